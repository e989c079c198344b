import type { VoteDirection } from "./gql";

export interface Tally {
  votes: number;
  upvotes: number;
  downvotes: number;
  /** Unix seconds. */
  score: number;
  viewerVote: VoteDirection | null;
}

/** Counts the viewer's vote as the server will, given that nobody else votes meanwhile. */
export function count(before: Tally, direction: VoteDirection, voteScore: number): Tally {
  const change = (of: VoteDirection) => Number(direction === of) - Number(before.viewerVote === of);
  const net = change("UP") - change("DOWN");
  return {
    votes: before.votes + net,
    upvotes: before.upvotes + change("UP"),
    downvotes: before.downvotes + change("DOWN"),
    score: before.score + net * voteScore,
    viewerVote: direction,
  };
}
