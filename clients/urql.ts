// urql, whose subscriptions are server-sent events.
import assert from "node:assert/strict";
import { cacheExchange, Client, fetchExchange, type OperationResult } from "@urql/core";
import { defined, main, url } from "./endpoint";
import { ChangedDocument, FrontPageDocument, PageDocument, PostDocument, VoteDocument, WalkDocument } from "./generated/sdl/graphql";
import { pages, pageSize, visit } from "./visit";

// urql accepts an event stream for any operation. A query must get an ordinary response.
const plain: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  assert.match(response.headers.get("Content-Type") ?? "", /^application\/graphql-response\+json/);
  return response;
};

const newClient = (headers: Record<string, string>) =>
  new Client({ url, exchanges: [cacheExchange, fetchExchange], fetch: plain, fetchOptions: { headers } });

const clientOf = (user: string) => newClient({ "X-User-ID": user });

const anonymous = newClient({});

// fetchExchange also does subscriptions, as server-sent events.
const live = new Client({ url, exchanges: [fetchExchange], fetchSubscriptions: true });

function data<Data>(result: OperationResult<Data>): Data {
  if (result.error) throw result.error;
  assert(result.data);
  return result.data;
}

main(() =>
  visit("urql", {
    async frontPage(user) {
      const { articles, viewer } = data(await clientOf(user).query(FrontPageDocument, {}));
      return { viewer: viewer?.name, articles: articles?.length };
    },
    async post(user, title) {
      const input = { title, link: "https://nearform.com/open-source/urql/", groups: ["clients"] };
      return data(await clientOf(user).mutation(PostDocument, { input })).post?.article?.id;
    },
    async vote(user, article) {
      return data(await clientOf(user).mutation(VoteDocument, { input: { article } })).vote?.article;
    },
    watch: (article, changed) =>
      live.subscription(ChangedDocument, { ids: [article] }).subscribe((result) => changed(data(result).articleChanged)).unsubscribe,
    async byCursor() {
      const ids: string[] = [];
      let after: string | null | undefined;
      for (;;) {
        const part = defined(data(await anonymous.query(WalkDocument, { first: pageSize, after })).articlesConnection);
        ids.push(...part.edges.map((edge) => edge.node.id));
        if (!part.pageInfo.hasNextPage) return ids;
        after = part.pageInfo.endCursor;
      }
    },
    byPage: () =>
      pages(async (page) => defined(data(await anonymous.query(PageDocument, { page, pageSize })).articles).map(({ id }) => id)),
  }),
);
