// Apollo Client, without and with automatic persisted queries.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { ApolloClient, type ApolloLink, gql, HttpLink, InMemoryCache, type TypedDocumentNode, type TypePolicies } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { buildSchema, getNamedType, isObjectType } from "graphql";
import { createClient } from "graphql-ws";
import { filter, firstValueFrom } from "rxjs";
import { WebSocket } from "ws";
import { defined, main, socketURL, url } from "./endpoint";
import { ChangedDocument, FrontPageDocument, PageDocument, PostDocument, VoteDocument, WalkDocument, type WalkQuery } from "./generated/sdl/graphql";
import { type Visitor, pages, pageSize, visit } from "./visit";

let typePolicies: TypePolicies; // those of the package, which is a module

const newClient = (link: ApolloLink) => new ApolloClient({ link, cache: new InMemoryCache({ typePolicies }) });

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

function everyConnectionHasAPolicy(): void {
  const types = Object.values(buildSchema(readFileSync("../schema.graphqls", "utf8")).getTypeMap()).filter(isObjectType);
  const paged = types.flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => getNamedType(field.type).name.endsWith("Connection"))
      .map((field) => `${type.name}.${field.name}`),
  );
  const policies = Object.entries(typePolicies).flatMap(([type, { fields }]) => Object.keys(fields ?? {}).map((field) => `${type}.${field}`));
  assert.deepEqual(policies.sort(), paged.sort(), "js/src/connections.ts has each connection of the schema");
}

interface List {
  group: {
    articlesConnection: {
      edges?: { node: { number: number } }[];
      nodes?: { number: number }[];
      pageInfo: { startCursor: string; endCursor: string; hasPreviousPage: boolean; hasNextPage: boolean };
    };
  };
}

const listBy = (articles: string): TypedDocumentNode<List, Record<string, unknown>> => gql`
  query List($direction: OrderDirection! = ASC, $first: Int, $after: String, $last: Int, $before: String) {
    group(name: "walk") {
      id
      articlesConnection(order: TIME, direction: $direction, first: $first, after: $after, last: $last, before: $before) {
        ${articles}
        pageInfo { startCursor endCursor hasPreviousPage hasNextPage }
      }
    }
  }`;
const byNodes = listBy("nodes { id number }");
const byEdges = listBy("edges { node { id number } }");

/** Reads two pages of 10 articles of the group `walk`, and returns the numbers of those in the cache. */
async function twoPages(client: ApolloClient, query: typeof byNodes, variables: Record<string, unknown>): Promise<() => number[]> {
  const list = client.watchQuery({ query, variables });
  const watching = list.subscribe({});
  const first = await firstValueFrom(list.pipe(filter(({ dataState }) => dataState === "complete")));
  const { pageInfo } = present(first as { data?: List }).group.articlesConnection;
  await list.fetchMore({ variables: variables["last"] ? { before: pageInfo.startCursor } : { after: pageInfo.endCursor } });
  watching.unsubscribe();
  return () => {
    const { edges, nodes } = defined(client.readQuery({ query, variables })).group.articlesConnection;
    return (nodes ?? defined(edges).map(({ node }) => node)).map(({ number }) => number);
  };
}

async function pagesInTheCache(): Promise<void> {
  const oldest = Array.from({ length: 20 }, (_, i) => 1001 + i);
  const newest = Array.from({ length: 20 }, (_, i) => 1481 + i);
  const link = new HttpLink({ uri: url });
  for (const queries of [[byNodes, byEdges], [byEdges, byNodes]]) {
    const [forward, backward] = [newClient(link), newClient(link)];
    const [first, last] = [[] as (() => number[])[], [] as (() => number[])[]];
    for (const query of queries) {
      first.push(await twoPages(forward, query, { first: 10 }));
      last.push(await twoPages(backward, query, { last: 10 }));
    }
    const reversed = await twoPages(forward, byNodes, { first: 10, direction: "DESC" });
    for (const list of first) assert.deepEqual(list(), oldest, "the pages by nodes and by edges are kept, also beside another list");
    for (const list of last) assert.deepEqual(list(), newest, "and those from the end of a list");
    assert.deepEqual(reversed(), [...newest].reverse());
  }
}

main(async () => {
  // Its types are those of a module, and the others here of what is required.
  typePolicies = (await import("frontpage-client/apollo")).typePolicies as unknown as TypePolicies;
  everyConnectionHasAPolicy();
  await pagesInTheCache();
  await visit("apollo", visitor(new HttpLink({ uri: url })));
  await persisted(false);
  await persisted(true);
});
