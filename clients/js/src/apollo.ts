import {
  type ApolloCache,
  ApolloLink,
  type FieldPolicy,
  Observable,
  type Reference,
  type TypePolicies,
} from "@apollo/client";
import { print } from "graphql";
import { forConnections } from "./connections.ts";
import { follow, type Live } from "./live.ts";
import type { Votes } from "./votes.ts";

interface Page {
  edges?: { node?: Reference }[];
  nodes?: Reference[];
  pageInfo?: { startCursor?: string; endCursor?: string; hasPreviousPage?: boolean; hasNextPage?: boolean };
}

const paging = ["first", "after", "last", "before"];

// A list is kept as its pages, in order. Every other argument makes another list.
const connection: FieldPolicy<Page[], Page> = {
  keyArgs: (args) =>
    Object.keys(args ?? {})
      .filter((name) => !paging.includes(name))
      .sort(),
  merge(pages = [], page, { args }) {
    // Where the page belongs: without a cursor at the start of the list, and at its end with `last`.
    const before = args?.before
      ? pages.findIndex(({ pageInfo }) => pageInfo?.startCursor === args.before)
      : -1;
    const after = args?.after ? pages.findIndex(({ pageInfo }) => pageInfo?.endCursor === args.after) : -1;
    const backward = args?.before || args?.last;
    const at = backward ? (before < 0 ? pages.length : before) - 1 : after + 1;
    const old = pages[at];
    if (old && page.pageInfo?.endCursor && old.pageInfo?.endCursor === page.pageInfo.endCursor) {
      // The same page again, maybe by `nodes` after `edges`: both are kept, and so are the other pages.
      const both = { ...old, ...page, pageInfo: { ...old.pageInfo, ...page.pageInfo } };
      return [...pages.slice(0, at), both, ...pages.slice(at + 1)];
    }
    return backward ? [page, ...pages.slice(at + 1)] : [...pages.slice(0, at), page];
  },
  read(pages, { canRead }) {
    const [first, last] = [pages?.[0], pages?.at(-1)];
    if (!pages || !first || !last) return undefined;
    const { startCursor, hasPreviousPage } = first.pageInfo ?? {};
    return {
      ...last,
      edges: pages.every(({ edges }) => edges)
        ? pages.flatMap(({ edges = [] }) => edges.filter(({ node }) => !node || canRead(node)))
        : undefined,
      nodes: pages.every(({ nodes }) => nodes) ? pages.flatMap(({ nodes = [] }) => nodes) : undefined,
      pageInfo: { ...last.pageInfo, startCursor, hasPreviousPage },
    };
  },
};

/** For `new InMemoryCache({ typePolicies })`: fetchMore adds a page to a list. */
export const typePolicies: TypePolicies = Object.fromEntries(
  Object.entries(forConnections(connection)).map(([type, fields]) => [type, { fields }]),
);

/**
 * Shows votes in what the cache has, at once. Without an optimistic response: the link must fetch with
 * `votingFetch(votes)`. Returns a function that ends it.
 */
export const showVotes = (votes: Votes, cache: ApolloCache): (() => void) =>
  votes.subscribe((id, { revision, votes: net, upvotes, downvotes, viewerVote = null }) => {
    const now = { revision, votes: net, upvotes, downvotes, viewerVote };
    const fields = Object.fromEntries(Object.entries(now).map(([field, value]) => [field, () => value]));
    cache.modify({ id: cache.identify({ __typename: "Article", id }), fields });
  });

/** A link for subscriptions by server-sent events, which go on where they were after a lost connection. */
export const followLink = (live: Live): ApolloLink =>
  new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) =>
        follow<ApolloLink.Result>(live, { query: print(query), variables }, observer),
      ),
  );
