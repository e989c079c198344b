import { type Exchange, makeOperation, mapExchange, type Operation } from "@urql/core";
import type { CacheExchangeOpts } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { forConnections } from "./connections.ts";
import { type Direction, move } from "./rule.ts";
import { articleId, type Votes } from "./votes.ts";

/**
 * Options of `cacheExchange` of graphcache: pages of lists are added to one another, and votes show at once. The client
 * must fetch with `votingFetch(votes)`.
 */
export function graphcache(votes: Votes): Pick<CacheExchangeOpts, "keys" | "resolvers" | "optimistic"> {
  return {
    // What has no id is part of what refers to it. Asked for any type, so that those of later versions work too.
    keys: new Proxy(
      {},
      {
        get:
          () =>
          ({ id }: { id?: string }) =>
            id ?? null,
        has: () => true,
      },
    ),
    resolvers: forConnections(relayPagination()),
    optimistic: {
      vote(args) {
        const { article, direction = "UP" } = args.input as {
          article: string | number;
          direction?: Direction;
        };
        const id = articleId(article);
        const known = votes.shown(id);
        return {
          __typename: "VotePayload",
          article: known ? { __typename: "Article", id, ...move(known, direction) } : null,
          previous: known?.viewerVote ?? null,
          changed: known?.viewerVote !== direction,
          userErrors: [],
        };
      },
    },
  };
}

/**
 * An exchange to put before the cache: without it, of two equal mutations that are in flight, such as a vote that was
 * made, taken back and made again, graphcache only answers one.
 */
export const distinctMutations: Exchange = (input) => {
  const originals = new Map<number, Operation>();
  let last = 0;
  return mapExchange({
    onOperation(operation) {
      if (operation.kind !== "mutation") return;
      const key = --last;
      originals.set(key, operation);
      return makeOperation(operation.kind, { ...operation, key }, operation.context);
    },
    onResult(result) {
      const operation = originals.get(result.operation.key);
      originals.delete(result.operation.key);
      if (operation) return { ...result, operation };
    },
  })(input);
};
