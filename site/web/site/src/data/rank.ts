import type { FrameFragment } from "./gql";

export type Rules = FrameFragment["site"]["rules"];

/** Returns what net votes add to an article's posting time in its score: seconds, as the server does. */
export function worth(votes: number, { ranking, voteScore, rankCap, halfLife }: Rules): number {
  if (ranking === "HALF_LIFE")
    return Math.sign(votes) * Math.floor(halfLife * Math.log2(1 + Math.abs(votes)) + 0.5);
  const all = votes * voteScore;
  return ranking === "CAPPED" ? Math.max(-Math.floor(rankCap / 2), Math.min(all, rankCap)) : all;
}

/**
 * Returns the number of votes that raise an article strictly above the score of another one, which must not be lower.
 * Undefined if no number does.
 */
export function votesToPass(
  article: { votes: number; score: number },
  above: number,
  rules: Rules,
): number | undefined {
  const { votes, score } = article;
  const passes = (more: number) => score - worth(votes, rules) + worth(votes + more, rules) > above;
  let enough = 1;
  while (!passes(enough)) {
    if (enough > 1e9) return;
    enough *= 2;
  }
  for (let step = enough / 2; step >= 1; step /= 2) if (passes(enough - step)) enough -= step;
  return enough;
}
