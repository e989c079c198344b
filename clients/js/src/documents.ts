import type { Direction } from "./rule.ts";

/** What a page needs of an article to show its votes and to keep them up to date. */
export const voteFields = `fragment VoteFields on Article { id revision votes upvotes downvotes viewerVote viewerCanVote votingEndsAt }`;

export interface VoteFields {
  /** Such as `article:17`. */
  id: string;
  revision: number;
  votes: number;
  upvotes: number;
  downvotes: number;
  viewerVote: Direction | null;
  /** Whether a vote would be accepted now. False for anonymous callers. */
  viewerCanVote: boolean;
  /** The last second in which a vote is accepted, such as `2026-11-30T12:00:00.000Z`. */
  votingEndsAt: string;
}

export const Vote = `mutation Vote($input: VoteInput!) { vote(input: $input) { article { ...VoteFields } userErrors { code message } } } ${voteFields}`;

export interface VoteResult {
  vote: { article: VoteFields | null; userErrors: { code: string; message: string }[] } | null;
}

/** Sends articles whose votes, title, text or groups change, and first those with other revisions than the client has. */
export const Changed = `subscription Changed($ids: [ID!]!, $revisions: [Int!]) { articleChanged(ids: $ids, revisions: $revisions) { ...VoteFields deletedAt } } ${voteFields}`;

export interface ChangedResult {
  articleChanged: VoteFields & { deletedAt: string | null };
}

/** Sends new articles, and first those after a cursor. */
export const Posted = `subscription Posted($group: String, $after: String) { articlePosted(group: $group, after: $after) { cursor node { title link ...VoteFields } } } ${voteFields}`;

export interface PostedResult {
  articlePosted: { cursor: string; node: VoteFields & { title: string; link: string | null } };
}
