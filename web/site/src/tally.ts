import type { VoteDirection } from "./gql";
import { type Rules, worth } from "./rank";

export interface Tally {
  votes: number;
  upvotes: number;
  downvotes: number;
  /** Unix seconds. */
  score: number;
  viewerVote: VoteDirection | null;
}

/** Applies the viewer's vote as the server will, if no other votes arrive in between. */
export function count(before: Tally, direction: VoteDirection, rules: Rules): Tally {
  const change = (kind: VoteDirection) => Number(direction === kind) - Number(before.viewerVote === kind);
  const net = change("UP") - change("DOWN");
  return {
    votes: before.votes + net,
    upvotes: before.upvotes + change("UP"),
    downvotes: before.downvotes + change("DOWN"),
    score: before.score - worth(before.votes, rules) + worth(before.votes + net, rules),
    viewerVote: direction,
  };
}
