import type { RowFragment } from "./gql";

/** Why an article stands where it stands. */
export interface Rank {
  /** Unix milliseconds. */
  postedAt: number;
  votes: number;
  /** Seconds by which the votes lift it; below 0, lower it. */
  lift: number;
  /** When an article without votes of the same rank was posted, Unix milliseconds. */
  ranksAs: number;
}

/** Takes a score apart: score = posting time + seconds for a vote x votes. */
export function explain(article: Pick<RowFragment, "createdAt" | "score" | "votes">): Rank {
  const postedAt = Date.parse(article.createdAt);
  return {
    postedAt,
    votes: article.votes,
    lift: article.score - postedAt / 1000,
    ranksAs: article.score * 1000,
  };
}

/** How many more votes put an article strictly above a score that is not below its own. */
export function votesToPass(score: number, above: number, voteScore: number): number {
  return Math.floor((above - score) / voteScore) + 1;
}
