import { CombinedError } from "@urql/preact";
import { expect, test } from "vitest";
import { explainError, sentence } from "./problem";

test.each([
  ["the title is empty", "The title is empty."],
  ["The title is empty.", "The title is empty."],
  ["über", "Über."],
  ['"x" is no group', '"x" is no group.'],
])("%s is said as %s", (message, said) => {
  expect(sentence(message)).toBe(said);
});

const coded = (code?: string, message = "told nobody") =>
  new CombinedError({ graphQLErrors: [{ message, extensions: code ? { code } : {} }] });
const noConnection = "There is no connection to the server.";
const noArticles = "The server cannot reach its articles right now.";
const wrong = "Something went wrong on the server.";

test.each([
  ["a failed fetch", new CombinedError({ networkError: new TypeError("Failed to fetch") }), noConnection],
  [
    "an answer that is none",
    new CombinedError({
      networkError: new Error("Bad Gateway"),
      response: new Response("", { status: 502 }),
    }),
    wrong,
  ],
  ["UNAVAILABLE", coded("UNAVAILABLE"), noArticles],
  ["TIMEOUT", coded("TIMEOUT"), noArticles],
  ["RATE_LIMITED", coded("RATE_LIMITED"), "That was a lot in a short time. Please wait a little."],
  [
    "BAD_USER_INPUT",
    coded("BAD_USER_INPUT", "the cursor is of another list"),
    "The cursor is of another list.",
  ],
  ["INTERNAL", coded("INTERNAL"), wrong],
  ["a code that is not known", coded("NEW"), wrong],
  ["no code", coded(), wrong],
  ["no extensions", new CombinedError({ graphQLErrors: ["told nobody"] }), wrong],
  ["nothing", new CombinedError({}), wrong],
])("what %s means", (_, error, said) => {
  expect(explainError(error)).toBe(said);
});
