// Relay, including pagination of a connection inside an object (by Query.node).
import assert from "node:assert/strict";
import { createClient, type Sink } from "graphql-ws";
import {
  commitMutation,
  type ConcreteRequest,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getPaginationMetadata,
  getPaginationVariables,
  getSingularSelector,
  getValueAtPath,
  type GraphQLTaggedNode,
  type MutationParameters,
  Network,
  Observable,
  type OperationType,
  type ReaderFragment,
  RecordSource,
  requestSubscription,
  Store,
} from "relay-runtime";
import { WebSocket } from "ws";
import { defined, main, socketURL, url } from "../endpoint";
import { pages, pageSize, visit } from "../visit";
import groupFragment from "./__generated__/site_group.graphql";
import listFragment from "./__generated__/site_list.graphql";
import changedArticle, { type siteChangedSubscription } from "./__generated__/siteChangedSubscription.graphql";
import frontPage, { type siteFrontPageQuery } from "./__generated__/siteFrontPageQuery.graphql";
import group, { type siteGroupQuery } from "./__generated__/siteGroupQuery.graphql";
import list, { type siteListQuery } from "./__generated__/siteListQuery.graphql";
import page, { type sitePageQuery } from "./__generated__/sitePageQuery.graphql";
import post, { type sitePostMutation } from "./__generated__/sitePostMutation.graphql";
import vote, { type siteVoteMutation } from "./__generated__/siteVoteMutation.graphql";

const sockets = createClient({ url: socketURL, webSocketImpl: WebSocket });

function environmentOf(user: string): Environment {
  const network = Network.create(
    async (request, variables) => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-User-ID": user },
        body: JSON.stringify({ query: request.text, variables }),
      });
      return response.json();
    },
    (request, variables) =>
      Observable.create((sink) => sockets.subscribe({ query: request.text ?? "", variables }, sink as Sink<unknown>)),
  );
  return new Environment({ network, store: new Store(new RecordSource()) });
}

const anonymous = environmentOf("");

async function query<T extends OperationType>(
  environment: Environment,
  request: GraphQLTaggedNode,
  variables: T["variables"],
): Promise<T["response"]> {
  const data = await fetchQuery<T>(environment, request, variables).toPromise();
  assert(data);
  return data;
}

const mutate = <T extends MutationParameters>(user: string, mutation: GraphQLTaggedNode, variables: T["variables"]) =>
  new Promise<T["response"]>((resolve, reject) =>
    commitMutation<T>(environmentOf(user), {
      mutation,
      variables,
      onCompleted: (response, errors) => (errors?.length ? reject(errors) : resolve(response)),
      onError: reject,
    }),
  );

interface Connection {
  edges: { node: { id: string } }[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

/** Loads the rest of a list into the store, as usePaginationFragment does, and reads it from there. */
async function loadAll(fragment: ReaderFragment, parent: unknown, variables: OperationType["variables"]): Promise<string[]> {
  const { connectionPathInFragmentData, identifierField, paginationRequest, paginationMetadata } = getPaginationMetadata(
    fragment,
    "loadAll",
  );
  const selector = getSingularSelector(fragment, parent);
  assert(selector);
  for (;;) {
    const { data } = anonymous.lookup(selector);
    const connection = getValueAtPath(data, connectionPathInFragmentData) as Connection;
    if (!connection.pageInfo.hasNextPage) return connection.edges.map((edge) => edge.node.id);
    const { endCursor } = connection.pageInfo;
    const next = getPaginationVariables("forward", pageSize, endCursor, variables, {}, paginationMetadata);
    if (identifierField) next["id"] = (data as Record<string, unknown>)[identifierField];
    await query(anonymous, paginationRequest, next);
  }
}

/** Protects the data of a query from the garbage collection of the store. */
function retain(request: ConcreteRequest, variables: OperationType["variables"]): void {
  anonymous.retain(createOperationDescriptor(request, variables));
}

async function pageThroughGroup(): Promise<void> {
  const variables = { name: "walk", count: pageSize };
  retain(group, variables);
  const found = await query<siteGroupQuery>(anonymous, group, variables);
  const ids = await loadAll(groupFragment, found.group, variables);
  assert.equal(ids.length, 500, "node(id:) pages through the whole group");
}

main(async () => {
  await visit("relay", {
    async frontPage(user) {
      const { articles, viewer } = await query<siteFrontPageQuery>(environmentOf(user), frontPage, {});
      return { viewer: viewer?.name, articles: articles?.length };
    },
    async post(user, title) {
      const input = { title, link: "https://relay.dev/", groups: ["clients"] };
      return (await mutate<sitePostMutation>(user, post, { input })).post?.article?.id;
    },
    async vote(user, article) {
      return (await mutate<siteVoteMutation>(user, vote, { input: { article } })).vote?.article;
    },
    watch(article, changed) {
      const { dispose } = requestSubscription<siteChangedSubscription>(anonymous, {
        subscription: changedArticle,
        variables: { ids: [article] },
        onNext: (data) => data && changed(data.articleChanged),
      });
      return dispose;
    },
    async byCursor() {
      const variables = { count: pageSize };
      retain(list, variables);
      return loadAll(listFragment, await query<siteListQuery>(anonymous, list, variables), variables);
    },
    byPage: () =>
      pages(async (number) =>
        defined((await query<sitePageQuery>(anonymous, page, { page: number, pageSize })).articles).map(({ id }) => id),
      ),
  });
  await pageThroughGroup();
});
