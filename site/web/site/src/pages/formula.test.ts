import { readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, test } from "vitest";
import { type Rules, worth } from "../data/rank";
import { spans } from "../ui/router";
import {
  curl,
  type Formula,
  formulas,
  initial,
  rankBy,
  readFormula,
  request,
  settings,
  votesNeeded,
  votesNeededOnSite,
  writeFormula,
} from "./formula";

const schema = buildSchema(readFileSync("../../schema.graphqls", "utf8"));
const rules: Rules = {
  ranking: "LINEAR",
  voteScore: 432,
  rankCap: 86_400,
  halfLife: 13_560,
  downvotes: true,
};

describe.each(formulas)("%s", (formula) => {
  const by: Formula = { ...initial, formula, gravity: 2.3, halfLife: 5000, voteScore: 60, span: "YEAR" };

  test("is read as it was written", () => {
    expect(rankBy(readFormula(writeFormula(by)))).toEqual(rankBy(by));
    expect(readFormula(writeFormula(by)).span).toBe("YEAR");
  });

  test("is a valid request, which the command has, too", () => {
    const document = request(by);
    expect(validate(schema, parse(document))).toEqual([]);
    const command = curl("https://news.example.org", document);
    expect(command).toMatch(/^curl -s https:\/\/news\.example\.org\/query [^\n]*$/);
    const { query } = JSON.parse(/-d '(.*)'$/.exec(command)?.[1] ?? "");
    expect(validate(schema, parse(query))).toEqual([]);
    expect(parse(query, { noLocation: true })).toEqual(parse(document, { noLocation: true }));
  });

  test("needs as many votes as a new article, and then never fewer", () => {
    expect(votesNeeded(by, 0)).toBeCloseTo(10, 9);
    for (let age = 1; age <= 48; age++)
      expect(votesNeeded(by, age)).toBeGreaterThanOrEqual(votesNeeded(by, age - 1));
  });
});

test.each([
  ["", initial],
  ["?formula=top&span=day&gravity=x&halfLife=&voteScore=1e9", initial],
  ["?gravity=0&halfLife=59&voteScore=0", initial],
  ["?gravity=5.1&halfLife=315360001", initial],
  ["?gravity=-1&halfLife=NaN&voteScore=Infinity", initial],
  ["?gravity=0.1&halfLife=60&voteScore=1", { ...initial, gravity: 0.1, halfLife: 60, voteScore: 1 }],
  ["?formula=TOP&span=ALL", { ...initial, formula: "TOP", span: "ALL" }],
  ["?formula=constructor&span=__proto__", initial],
  ["?halfLife=90.4", { ...initial, halfLife: 90 }],
] as [string, Formula][])("the address %s", (search, want) => {
  expect(readFormula(search)).toEqual(want);
});

test.each(spans)("the span %s is in the request", (span) => {
  expect(request({ ...initial, span })).toContain(`span: ${span},`);
});

// An article that stands level now has the same key as the new one.
test.each([
  ["GRAVITY", (votes: number, age: number) => (votes - 1) / (age + 2) ** 1.8],
  ["HALF_LIFE", (votes: number, age: number) => Math.log2(1 + votes) * 21_600 - age * 3600],
  ["LINEAR", (votes: number, age: number) => votes * 432 - age * 3600],
  ["TOP", (votes: number) => votes],
] as const)("the votes needed by %s give the same key", (formula, key) => {
  for (const age of [0, 1, 7.5, 24, 48])
    expect(key(votesNeeded({ ...initial, formula }, age), age)).toBeCloseTo(key(10, 0), 6);
});

test("the site's rule needs the votes that its scores need", () => {
  for (const ranking of ["LINEAR", "CAPPED", "HALF_LIFE"] as const) {
    const rule = { ...rules, ranking };
    for (const age of [0, 1, 12, 22, 30, 48]) {
      const votes = votesNeededOnSite(rule, age);
      const gap = worth(10, rule) + age * 3600;
      if (votes === Number.POSITIVE_INFINITY) expect(worth(1e9, rule)).toBeLessThan(gap);
      else {
        expect(worth(Math.ceil(votes * 1.001 + 0.1), rule)).toBeGreaterThanOrEqual(gap);
        expect(worth(Math.floor(votes * 0.999 - 0.1), rule)).toBeLessThan(gap);
      }
    }
  }
  expect(votesNeededOnSite({ ...rules, ranking: "CAPPED" }, 48)).toBe(Number.POSITIVE_INFINITY);
});

test("only rules that the site can have are shown as settings", () => {
  expect(formulas.map((formula) => settings({ ...initial, formula }))).toEqual([
    undefined,
    "FRONTPAGE_RANKING=halflife:21600s",
    "FRONTPAGE_RANKING=linear FRONTPAGE_VOTE_SCORE=432",
    undefined,
  ]);
});
