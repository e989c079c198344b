import { commitLocalUpdate, type IEnvironment, type INetwork, Network, Observable } from "relay-runtime";
import { votingFetch } from "./fetch.ts";
import { follow, type Live } from "./live.ts";
import { Votes } from "./votes.ts";

/** The network of a Relay environment: queries and mutations by POST, subscriptions by server-sent events that resume. */
export function createNetwork(live: Live): INetwork {
  const { url, headers = {}, votes = new Votes() } = live;
  const by = votingFetch(votes, live.fetch);
  return Network.create(
    async ({ text }, variables) => {
      const response = await by(url, {
        method: "POST",
        headers: {
          ...(typeof headers === "function" ? headers() : headers),
          Accept: "application/json",
          "Content-Type": "application/json",
        },
        body: JSON.stringify({ query: text, variables }),
      });
      return response.json();
    },
    ({ text }, variables) =>
      Observable.create((sink) =>
        follow({ ...live, votes }, { query: text ?? "", variables }, sink as never),
      ),
  );
}

/**
 * Shows votes in what the store has, at once, without an optimistic response. `votes` is that of `createNetwork`. Returns a
 * function that ends it.
 */
export const showVotes = (votes: Votes, environment: IEnvironment): (() => void) =>
  votes.subscribe((id, { revision, votes: net, upvotes, downvotes, viewerVote = null }) => {
    commitLocalUpdate(environment, (store) => {
      const article = store.get(id);
      const now = { revision, votes: net, upvotes, downvotes, viewerVote };
      for (const [field, value] of Object.entries(now))
        if (article && article.getValue(field) !== undefined) article.setValue(value, field);
    });
  });
