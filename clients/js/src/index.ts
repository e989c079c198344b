export { type Client, connect, GraphQLFailure } from "./client.ts";
export * from "./documents.ts";
export { votingFetch } from "./fetch.ts";
export { advance, follow, following, type Live, type Result, type Sink, type Subscription } from "./live.ts";
export {
  type Counts,
  type Direction,
  type Happening,
  move,
  next,
  type State,
  shown,
  type Tally,
} from "./rule.ts";
export { type Listener, type Options, type Outcome, Votes } from "./votes.ts";
