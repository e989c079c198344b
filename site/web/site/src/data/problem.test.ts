import { CombinedError } from "@urql/preact";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { texts } from "../ui/strings";
import { explainError, explainRefusal, sentence, signedOut, unknownKey } from "./problem";

test.each([
  ["the title is empty", "The title is empty."],
  ["The title is empty.", "The title is empty."],
  ["über", "Über."],
  ['"x" is no group', '"x" is no group.'],
])("%s becomes %s", (message, text) => {
  expect(sentence(message)).toBe(text);
});

describe("in another language", () => {
  beforeAll(() => {
    Object.assign(texts.refusals, {
      DENIED: "Nie: {reason}",
      "DENIED.until": "Bis {until}: {reason}",
      "DENIED.article": "Nicht gezählt: {reason}",
    });
  });
  afterAll(() => {
    texts.refusals = {};
  });
  const denied = { code: "DENIED", message: "you can only read", reason: "Werbung" };
  test.each([
    [{ ...denied, until: "2026-01-03T00:00:00Z" }, /^Bis [23] Jan 2026, \d\d:\d\d: Werbung$/],
    [denied, /^Nie: Werbung$/],
    [{ ...denied, field: ["article"] }, /^Nicht gezählt: Werbung$/],
    [{ ...denied, code: "NEW" }, /^You can only read.$/],
  ])("%o is explained", (refusal, text) => {
    expect(explainRefusal(refusal)).toMatch(text);
  });
});

const coded = (code?: string, message = "not shown") =>
  new CombinedError({ graphQLErrors: [{ message, extensions: code ? { code } : {} }] });
const noConnection = "The server cannot be reached.";
const noArticles = "The articles are temporarily unavailable.";
const wrong = "Something went wrong on the server.";

test.each([
  ["a failed fetch", new CombinedError({ networkError: new TypeError("Failed to fetch") }), noConnection],
  ["rejected credentials", coded(signedOut), "You have been signed out. Please sign in again."],
  [
    "a key that is not loaded",
    coded(unknownKey),
    "The server cannot verify your sign-in yet. Please try again in a few seconds.",
  ],
  ["UNAVAILABLE", coded("UNAVAILABLE"), noArticles],
  ["TIMEOUT", coded("TIMEOUT"), noArticles],
  ["RATE_LIMITED", coded("RATE_LIMITED"), "Too many requests. Please wait a moment."],
  [
    "BAD_USER_INPUT",
    coded("BAD_USER_INPUT", "the cursor is of another list"),
    "The cursor is of another list.",
  ],
  ["INTERNAL", coded("INTERNAL"), wrong],
  ["an unknown code", coded("NEW"), wrong],
  ["no code", coded(), wrong],
  ["no extensions", new CombinedError({ graphQLErrors: ["not shown"] }), wrong],
  ["nothing", new CombinedError({}), wrong],
])("explains %s", (_, error, text) => {
  expect(explainError(error)).toBe(text);
});
