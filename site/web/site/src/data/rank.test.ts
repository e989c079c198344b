import { describe, expect, test } from "vitest";
import { type Rules, votesToPass, worth } from "./rank";

const linear: Rules = {
  ranking: "LINEAR",
  voteScore: 432,
  rankCap: 86_400,
  halfLife: 13_560,
  downvotes: true,
};
const capped: Rules = { ...linear, ranking: "CAPPED" };
const halfLife: Rules = { ...linear, ranking: "HALF_LIFE" };
const posted = 1_700_000_000;

/** An article with a number of votes, by a rule. */
const ranked = (votes: number, rules: Rules) => ({ votes, score: posted + worth(votes, rules) });

// The server has the same numbers: see TestWorth in redisrepo.
test.each([
  [0, 0, 0, 0],
  [1, 432, 432, 13_560],
  [-1, -432, -432, -13_560],
  [2, 864, 864, 21_492],
  [3, 1296, 1296, 27_120],
  [-3, -1296, -1296, -27_120],
  [100, 43_200, 43_200, 90_285],
  [-100, -43_200, -43_200, -90_285],
  [-101, -43_632, -43_200, -90_478],
  [200, 86_400, 86_400, 103_748],
  [201, 86_832, 86_400, 103_845],
  [1_000_000, 432_000_000, 86_400, 270_272],
])("%d votes are worth %d s, capped %d s, with a half-life %d s", (votes, ...seconds) => {
  expect([linear, capped, halfLife].map((rules) => worth(votes, rules))).toEqual(seconds);
});

test("an odd cap is halved as on the server", () => {
  expect(worth(-1000, { ...capped, rankCap: 601 })).toBe(-300);
});

test.each([
  [0, 1], // a tie is not enough: ties are broken by id
  [0.001, 1],
  [431.999, 1],
  [432, 2],
  [433, 2],
  [864, 3],
  [86_400, 201],
])("by the linear rule, an article %d s below the next needs %d votes to pass it", (gap, votes) => {
  expect(votesToPass(ranked(0, linear), posted + gap, linear)).toBe(votes);
});

test("with a cap, no number of votes may be enough", () => {
  expect(votesToPass(ranked(0, capped), posted + 86_399, capped)).toBe(200);
  expect(votesToPass(ranked(0, capped), posted + 86_400, capped)).toBeUndefined();
  // Votes below the lower limit count only once the others are made up for.
  expect(votesToPass(ranked(-150, capped), posted - 43_200, capped)).toBe(51);
});

describe.each([linear, capped, halfLife])("by the rule $ranking", (rules) => {
  test("the number of votes is the smallest that passes", () => {
    let seed = 17;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let i = 0; i < 1000; i++) {
      const rule = { ...rules, voteScore: 1 + random(1000), halfLife: 60 + random(20_000) };
      const article = ranked(random(300) - 100, rule);
      // Half of the gaps are those of a whole number of votes.
      const above =
        i % 2 ? article.score + random(80_000) / 1000 : posted + worth(article.votes + random(100), rule);
      const votes = votesToPass(article, above, rule);
      const passes = (more: number) => posted + worth(article.votes + more, rule) > above;
      if (votes === undefined) expect(passes(1e6)).toBe(false);
      else expect([passes(votes), votes === 1 || !passes(votes - 1)], `${votes} votes`).toEqual([true, true]);
    }
  });
});
