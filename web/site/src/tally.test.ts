import { describe, expect, test } from "vitest";
import type { VoteDirection } from "./gql";
import { type Rules, worth } from "./rank";
import { count, type Tally } from "./tally";

const directions: VoteDirection[] = ["UP", "DOWN", "NONE"];
const linear: Rules = { ranking: "LINEAR", voteScore: 432, rankCap: 600, halfLife: 13_560, downvotes: true };
const posted = 1_700_000_000.25;

// The cap is reached by two votes, its lower limit by one.
describe.each([
  linear,
  { ...linear, ranking: "CAPPED" },
  { ...linear, ranking: "HALF_LIFE" },
] satisfies Rules[])("by the rule $ranking", (rules) => {
  // An article with five votes of others: three up, two down.
  function recount(own: VoteDirection | null): Tally {
    const cast = ["UP", "UP", "UP", "DOWN", "DOWN", own];
    const upvotes = cast.filter((vote) => vote === "UP").length;
    const downvotes = cast.filter((vote) => vote === "DOWN").length;
    const votes = upvotes - downvotes;
    return { upvotes, downvotes, votes, score: posted + worth(votes, rules), viewerVote: own };
  }

  test.each([...directions, null].flatMap((from) => directions.map((to) => [from, to] as const)))(
    "a vote changes from %s to %s",
    (from, to) => {
      const before = recount(from);
      expect(count(before, to, rules)).toEqual(recount(to));
      expect(before).toEqual(recount(from));
    },
  );

  test("random votes that end at the initial vote change nothing", () => {
    // A generator with a fixed seed, so that failures are reproducible.
    let seed = 17;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return directions[seed % 3] as VoteDirection;
    };
    for (const start of directions) {
      let now = recount(start);
      for (let i = 0; i < 1000; i++) {
        now = count(now, random(), rules);
        expect(now).toEqual(recount(now.viewerVote));
      }
      expect(count(now, start, rules)).toEqual(recount(start));
    }
  });
});
