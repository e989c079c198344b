import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  completeLink,
  fromAddress,
  groupNames,
  keepDraft,
  readDraft,
  suggest,
  toInput,
  withGroup,
} from "./draft";

const key = "frontpage.draft";
const empty = { title: "", link: "", text: "", groups: "" };

beforeEach(() => sessionStorage.clear());
afterEach(() => vi.unstubAllGlobals());

test.each<[string, string[]]>([
  ["", []],
  [" , ,\n", []],
  ["go", ["go"]],
  [" go,web\tweb.dev\n", ["go", "web", "web.dev"]],
  ["go go, go", ["go"]],
  ["go Go", ["go", "Go"]], // the server ignores case
])("group names in %j", (text, names) => {
  expect(groupNames(text)).toEqual(names);
});

test.each([
  ["", "go", "go "],
  ["g", "go", "go "],
  ["rust g", "go", "rust go "],
  ["rust,g", "go", "rust,go "],
  ["rust ", "go", "rust go "],
  ["rust, ", "go", "rust, go "],
  ["a$", "$&", "$& "],
])("%j is completed with %s", (text, name, completed) => {
  expect(withGroup(text, name)).toBe(completed);
});

test.each<[string, string[]]>([
  ["", ["go", "golang", "rust"]],
  ["g", ["go", "golang"]],
  ["G", ["go", "golang"]],
  ["go", ["golang"]], // already in the text
  ["go ", ["golang", "rust", "web"]],
  ["GO,", ["golang", "rust", "web"]],
  ["rust go", ["golang"]],
  ["x", []],
  [".", []],
  ["(", []],
])("suggestions for %j", (text, suggestions) => {
  expect(suggest(text, ["go", "golang", "rust", "web"], 3)).toEqual(suggestions);
});

test.each([
  [empty, { title: "", link: null, text: null, groups: [] }],
  [
    { title: " T ", link: " https://a.example ", text: "  two\n  lines\n", groups: "go, web" },
    { title: " T ", link: "https://a.example", text: "  two\n  lines\n", groups: ["go", "web"] },
  ],
  [
    { ...empty, link: "  ", text: " \n\t", groups: " " },
    { title: "", link: null, text: null, groups: [] },
  ],
])("input of the draft %j", (draft, input) => {
  expect(toInput(draft)).toEqual(input);
});

test("a draft is saved until it is posted", () => {
  const draft = { title: "a", link: "b", text: "c\n", groups: "d " };
  keepDraft(draft);
  expect(readDraft()).toEqual(draft);
  keepDraft(undefined);
  expect(readDraft()).toEqual(empty);
});

test.each(["", "{", "null", "[]", "{}"])("the stored value %j reads as an empty draft", (stored) => {
  sessionStorage.setItem(key, stored);
  expect(readDraft()).toEqual(empty);
});

test("missing fields of a stored draft are empty", () => {
  sessionStorage.setItem(key, '{"title":"a"}');
  expect(readDraft()).toEqual({ ...empty, title: "a" });
});

test("without browser storage, the draft is empty", () => {
  vi.stubGlobal("sessionStorage", {
    getItem() {
      throw new DOMException("", "SecurityError");
    },
  });
  expect(readDraft()).toEqual(empty);
});

test.each([
  ["go.dev/blog/x", "https://go.dev/blog/x"],
  [" example.org ", "https://example.org"],
  ["example.org:8443/?a=b", "https://example.org:8443/?a=b"],
  ["http://example.org", "http://example.org"],
  ["mailto:bob@example.org", "mailto:bob@example.org"],
  ["not a link", "not a link"],
  ["word", "word"],
  ["", ""],
])("%j is completed to %j", (text, link) => {
  expect(completeLink(text)).toBe(link);
});

test.each<[string, Partial<typeof empty>]>([
  ["link=https%3A%2F%2Fgo.dev%2F&title=Go", { link: "https://go.dev/", title: "Go" }],
  ["link=go.dev/x", { link: "https://go.dev/x" }],
  ["text=https://go.dev/&title=Go", { link: "https://go.dev/", title: "Go" }], // an application that shares a page
  ["text=some words", { text: "some words" }],
  [
    "text=https://go.dev/&link=https://example.org/",
    { link: "https://example.org/", text: "https://go.dev/" },
  ],
  ["group=sea", { groups: "sea " }],
  ["", {}],
])("the form at ?%s", (query, draft) => {
  expect(fromAddress(empty, new URLSearchParams(query))).toEqual({ ...empty, ...draft });
});

test("what is in the address replaces the draft, and the rest stays", () => {
  const draft = { title: "mine", link: "https://example.org/", text: "words", groups: "go" };
  expect(fromAddress(draft, new URLSearchParams("title=theirs&group=sea"))).toEqual({
    ...draft,
    title: "theirs",
  });
});
