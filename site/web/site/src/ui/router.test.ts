import { expect, test } from "vitest";
import { feeds, parse, paths, type Route } from "./router";

const top = (group?: string): Route => ({ page: "list", order: "SCORE", group });
const newest = (group?: string): Route => ({ page: "list", order: "TIME", group });
const missing: Route = { page: "missing" };

// web.go has the same paths.
test.each<[string, Route]>([
  ["/", top()],
  ["/new", newest()],
  ["/groups", { page: "groups" }],
  ["/submit", { page: "submit" }],
  ["/signin", { page: "signin" }],
  ["/from/go.dev", { page: "from", name: "go.dev" }],
  ["/from/%5B::1%5D:81", { page: "from", name: "[::1]:81" }],
  ["/from", { page: "missing" }],
  ["/from/go.dev/new", { page: "missing" }],
  ["/top/day", { page: "top", part: "DAY" }],
  ["/top/week", { page: "top", part: "WEEK" }],
  ["/top/month", { page: "top", part: "MONTH" }],
  ["/top/year", { page: "top", part: "YEAR" }],
  ["/top/all", { page: "top", part: "ALL" }],
  ["/past", { page: "past" }],
  ["/past/2026-11-21", { page: "past", day: "2026-11-21" }],
  ["/past/2024-02-29", { page: "past", day: "2024-02-29" }],
  ["/votes", { page: "votes" }],
  ["/votes/up", { page: "votes", part: "UP" }],
  ["/votes/down", { page: "votes", part: "DOWN" }],
  ["/lab", { page: "lab" }],
  ["/g/go", top("go")],
  ["/g/go/new", newest("go")],
  ["/g/new", top("new")],
  ["/g/new/new", newest("new")],
  ["/g/github.com", top("github.com")],
  ["/g/github.com/new", newest("github.com")],
  ["/g/index.html", top("index.html")],
  ["/g/a%2Fb", top("a/b")],
  ["/g/a%2Fnew", top("a/new")],
  ["/g/100%25", top("100%")],
  ["/g/%2525", top("%25")],
  ["/g/%C3%BCber", top("über")],
  ["/g/über", top("über")],
  ["/a/17", { page: "article", id: "article:17" }],
  ["/a/17%20", { page: "article", id: "article:17" }],
  ["/a/2147483647", { page: "article", id: "article:2147483647" }],
  ["/u/alice", { page: "user", name: "alice" }],
  ["/u/a%2Fb%3F%23", { page: "user", name: "a/b?#" }],
  ["/u/%F0%9F%90%B9", { page: "user", name: "🐹" }],
  ["/u/new", { page: "user", name: "new" }],
  ["/%6Eew", newest()],

  ["", missing],
  ["//", missing],
  ["/New", missing],
  ["/new/", missing],
  ["/groups/", missing],
  ["/submit/", missing],
  ["/signin/x", missing],
  ["/g", missing],
  ["/g/", missing],
  ["/g//new", missing],
  ["/g/go/", missing],
  ["/g/go/old", missing],
  ["/g/go/new/", missing],
  ["/g/go/new/more", missing],
  ["/g%2Fgo", missing],
  ["/a", missing],
  ["/a/", missing],
  ["/a/x", missing],
  ["/a/0", missing],
  ["/a/007", missing],
  ["/a/2147483648", missing],
  ["/a/99999999999999999999", missing],
  ["/a/-1", missing],
  ["/a/1.5", missing],
  ["/a/1e3", missing],
  ["/a/17/new", missing],
  ["/a/%EF%BC%91", missing], // a full-width digit
  ["/u", missing],
  ["/u/", missing],
  ["/u/alice/new", missing],
  ["/constructor", missing],
  ["/top", missing],
  ["/top/Day", missing],
  ["/top/DAY", missing],
  ["/top/hour", missing],
  ["/top/day/new", missing],
  ["/past/2026-02-29", missing],
  ["/past/2026-11-31", missing],
  ["/past/2026-1-2", missing],
  ["/past/20261121", missing],
  ["/past/yesterday", missing],
  ["/past/2026-11-21T12:00", missing],
  ["/votes/none", missing],
  ["/mod", { page: "mod" }],
  ["/mod/removed", { page: "mod", part: "REMOVED" }],
  ["/mod/log", { page: "mod", part: "LOG" }],
  ["/mod/none", missing],
  ["/mod/log/x", missing],
  ["/lab/", missing],
  ["/g/%", missing],
  ["/g/%zz", missing],
  ["/u/%ff", missing],
  ["/u/%C3", missing],
])("page of %s", (path, route) => {
  expect(parse(path)).toEqual(route);
});

// As a browser resolves the path, including the segments "." and "..".
const browsed = (path: string) => parse(new URL(path, location.origin).pathname);
const names = [
  "go",
  "new",
  "github.com",
  ".",
  "..",
  "...",
  ".a",
  "a/b",
  "100%",
  "%2F",
  "%2e",
  "über",
  "🐹",
  "a b+c",
  "?#&",
];

test.each(names)("links with the name %s lead to its page", (name) => {
  expect(browsed(paths.list("SCORE", name))).toEqual(top(name));
  expect(browsed(paths.list("TIME", name))).toEqual(newest(name));
  expect(browsed(paths.user(name))).toEqual({ page: "user", name });
});

test.each([
  ["/", ""],
  ["/top/week", ""],
  ["/a/1", ""],
  ["/new", "/new"],
  ["/g/go", "/g/go"],
  ["/g/go/new", "/g/go/new"],
  ["/g/go/top/week", "/g/go"],
  ["/u/bob", "/u/bob"],
])("the feeds of %s are below %s", (path, before) => {
  expect(feeds(path)).toBe(before);
});

test("links without a name lead to their page", () => {
  expect(parse(paths.host("[::1]:81"))).toEqual({ page: "from", name: "[::1]:81" });
  expect(parse("/constructor/find")).toEqual({ page: "missing" });
  expect(parse(paths.list("SCORE"))).toEqual(top());
  expect(parse(paths.list("TIME"))).toEqual(newest());
  expect(parse(paths.article(17))).toEqual({ page: "article", id: "article:17" });
});
