import { expect, test } from "vitest";
import { votesToPass } from "./rank";

test.each([
  [0, 1], // a tie is not enough: ties are broken by id
  [0.001, 1],
  [431.999, 1],
  [432, 2],
  [433, 2],
  [864, 3],
  [86_400, 201],
])("an article %d s below the next needs %d votes to pass it", (gap, votes) => {
  expect(votesToPass(1_700_000_000, 1_700_000_000 + gap, 432)).toBe(votes);
});

test("the number of votes is the smallest that passes", () => {
  let seed = 17;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let i = 0; i < 1000; i++) {
    const voteScore = 1 + random(1000);
    const score = 1_700_000_000 + random(1_000_000) / 1000;
    // Half of the gaps are a whole number of votes.
    const above = score + (i % 2 ? random(100) * voteScore : random(100_000) / 1000);
    let votes = 0;
    while (score + votes * voteScore <= above) votes++;
    expect(votesToPass(score, above, voteScore), `${score} below ${above} by ${voteScore}`).toBe(votes);
  }
});
