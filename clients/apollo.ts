// Apollo Client, without and with automatic persisted queries.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ApolloClient, type ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { createClient } from "graphql-ws";
import { filter, firstValueFrom } from "rxjs";
import { WebSocket } from "ws";
import { defined, main, socketURL, url } from "./endpoint";
import { ChangedDocument, FrontPageDocument, PageDocument, PostDocument, VoteDocument, WalkDocument, type WalkQuery } from "./generated/sdl/graphql";
import { type Visitor, pages, pageSize, visit } from "./visit";

const newCache = () =>
  new InMemoryCache({
    typePolicies: { Query: { fields: { articlesConnection: relayStylePagination(["order", "direction"]) } } },
  });

const newClient = (link: ApolloLink) => new ApolloClient({ link, cache: newCache() });

const live = newClient(new GraphQLWsLink(createClient({ url: socketURL, webSocketImpl: WebSocket })));

function present<Data>(result: { data?: Data }): Data {
  return defined(result.data);
}

function visitor(link: ApolloLink): Visitor {
  const client = newClient(link);
  const as = (user: string) => ({ headers: { "X-User-ID": user } });
  return {
    async frontPage(user) {
      const { articles, viewer } = present(await client.query({ query: FrontPageDocument, context: as(user) }));
      return { viewer: viewer?.name, articles: articles?.length };
    },
    async post(user, title) {
      const input = { title, text: "Apollo Client", groups: ["clients"] };
      const result = await client.mutate({ mutation: PostDocument, variables: { input }, context: as(user) });
      return present(result).post?.article?.id;
    },
    async vote(user, article) {
      const result = await client.mutate({ mutation: VoteDocument, variables: { input: { article } }, context: as(user) });
      return present(result).vote?.article;
    },
    watch(article, changed) {
      const watching = live
        .subscribe({ query: ChangedDocument, variables: { ids: [article] } })
        .subscribe((result) => changed(present(result).articleChanged));
      return () => watching.unsubscribe();
    },
    // The cache merges the pages, as it does for a list that grows in a user interface.
    async byCursor() {
      const list = client.watchQuery({ query: WalkDocument, variables: { first: pageSize } });
      const watching = list.subscribe({});
      const first = await firstValueFrom(list.pipe(filter(({ dataState }) => dataState === "complete")));
      let { pageInfo } = defined(present(first as { data?: WalkQuery }).articlesConnection);
      while (pageInfo.hasNextPage) {
        const more = await list.fetchMore({ variables: { after: pageInfo.endCursor } });
        ({ pageInfo } = defined(present(more).articlesConnection));
      }
      const all = client.readQuery({ query: WalkDocument, variables: { first: pageSize } });
      watching.unsubscribe();
      return defined(all?.articlesConnection).edges.map((edge) => edge.node.id);
    },
    byPage: () =>
      pages(async (page) =>
        defined(present(await client.query({ query: PageDocument, variables: { page, pageSize } })).articles).map(({ id }) => id),
      ),
  };
}

const sha256 = (query: string) => createHash("sha256").update(query).digest("hex");

async function persisted(useGETForHashedQueries: boolean): Promise<void> {
  const name = useGETForHashedQueries ? "apollo-persisted-get" : "apollo-persisted-post";
  const sent = { hashes: 0, documents: 0, get: 0 };
  const counting: typeof fetch = (input, init) => {
    const text = `${String(input)} ${String(init?.body ?? "")}`;
    if (/[?&"]query["=]/.test(text)) sent.documents++;
    else if (text.includes("persistedQuery")) sent.hashes++;
    if (init?.method === "GET") sent.get++;
    return fetch(input, init);
  };
  const link = new PersistedQueryLink({ sha256, useGETForHashedQueries }).concat(new HttpLink({ uri: url, fetch: counting }));
  await visit(name, visitor(link));
  assert(sent.documents <= 5, `${name}: too many full documents: ${JSON.stringify(sent)}`);
  assert(sent.hashes >= 30, `${name}: too few requests by hash: ${JSON.stringify(sent)}`);
  assert.equal(sent.get > 0, useGETForHashedQueries);
}

main(async () => {
  await visit("apollo", visitor(new HttpLink({ uri: url })));
  await persisted(false);
  await persisted(true);
});
