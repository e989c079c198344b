import { expect, test } from "vitest";
import { votesToPass } from "./rank";

test.each([
  [0, 1], // equal ones are sorted by their ids
  [0.001, 1],
  [431.999, 1],
  [432, 2],
  [433, 2],
  [864, 3],
  [86_400, 201],
])("%d s below the next it takes %d votes to pass it", (gap, votes) => {
  expect(votesToPass(1_700_000_000, 1_700_000_000 + gap, 432)).toBe(votes);
});

test("one vote less is too few, and these are enough", () => {
  let seed = 17;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let i = 0; i < 1000; i++) {
    const voteScore = 1 + random(1000);
    const score = 1_700_000_000 + random(1_000_000) / 1000;
    // Half of them are a whole number of votes above.
    const above = score + (i % 2 ? random(100) * voteScore : random(100_000) / 1000);
    let votes = 0;
    while (score + votes * voteScore <= above) votes++;
    expect(votesToPass(score, above, voteScore), `${score} below ${above} by ${voteScore}`).toBe(votes);
  }
});
