// The package with each GraphQL client, against a real server.
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { fetchExchange, subscriptionExchange, Client as Urql } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { Environment, RecordSource, Store } from "relay-runtime";
import { describe, expect, test, vi } from "vitest";
import { followLink, showVotes as showInApollo, typePolicies } from "../src/apollo.ts";
import {
  Changed,
  connect,
  type Direction,
  follow,
  following,
  Posted,
  type PostedResult,
  Vote,
  Votes,
  voteFields,
  votingFetch,
} from "../src/index.ts";
import { createNetwork, showVotes as showInRelay } from "../src/relay.ts";
import { distinctMutations, graphcache } from "../src/urql.ts";
import { execute, newest, standing, url, vote, Wire } from "./server.ts";

interface Shown {
  votes: number;
  viewerVote: Direction | null;
}

/** What a page does with a client. */
interface Page {
  /** Reads an article and shows it; calls `show` with each state that is shown. */
  open(id: string, show: (shown: Shown) => void): Promise<void>;
  vote(id: string, direction: Direction): Promise<unknown>;
  /** Watches the article, from its revision on. */
  watch(id: string): void;
  end(): void;
}

const Article = `query Article($id: ID!) { article(id: $id) { ...VoteFields } } ${voteFields}`;
const quick = { wait: async () => {} };

function withoutClient(user: string, wire: Wire): Page {
  const site = connect({ url, headers: { "X-User-ID": user }, fetch: wire.fetch, ...quick });
  const ends: (() => void)[] = [];
  return {
    async open(id, show) {
      await site.execute(Article, { id });
      show(site.votes.shown(id) as Shown);
      ends.push(site.votes.subscribe((_, tally) => show(tally as Shown)));
    },
    vote: (id, direction) => site.vote(id, direction),
    watch: (id) => ends.push(site.watch([id])),
    end: () => {
      for (const end of ends) end();
    },
  };
}

function withUrql(user: string, wire: Wire): Page {
  const votes = new Votes();
  const headers = { "X-User-ID": user };
  const client = new Urql({
    url,
    fetch: votingFetch(votes, wire.fetch),
    fetchOptions: { headers },
    exchanges: [
      distinctMutations,
      cacheExchange(graphcache(votes)),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: following({ url, headers, votes, fetch: wire.fetch, ...quick }),
      }),
    ],
  });
  const ends: (() => void)[] = [];
  return {
    open: (id, show) =>
      new Promise((resolve) => {
        const { unsubscribe } = client.query(Article, { id }).subscribe(({ data }) => {
          if (data) show(data.article);
          resolve();
        });
        ends.push(unsubscribe);
      }),
    vote: (article, direction) => client.mutation(Vote, { input: { article, direction } }).toPromise(),
    watch(id) {
      const revisions = [votes.shown(id)?.revision ?? -1];
      ends.push(client.subscription(Changed, { ids: [id], revisions }).subscribe(() => {}).unsubscribe);
    },
    end: () => {
      for (const end of ends) end();
    },
  };
}

function withApollo(user: string, wire: Wire): Page {
  const votes = new Votes();
  const headers = { "X-User-ID": user };
  const cache = new InMemoryCache({ typePolicies });
  const client = new ApolloClient({
    cache,
    link: ApolloLink.split(
      ({ operationType }) => operationType === "subscription",
      followLink({ url, headers, votes, fetch: wire.fetch, ...quick }),
      new HttpLink({ uri: url, headers, fetch: votingFetch(votes, wire.fetch) }),
    ),
  });
  const ends: (() => void)[] = [showInApollo(votes, cache)];
  return {
    open: (id, show) =>
      new Promise((resolve) => {
        const query = client.watchQuery<{ article: Shown }>({ query: gql(Article), variables: { id } });
        const watching = query.subscribe(({ data, dataState }) => {
          if (dataState !== "complete") return;
          show(data.article);
          resolve();
        });
        ends.push(() => watching.unsubscribe());
      }),
    vote: (article, direction) =>
      client.mutate({ mutation: gql(Vote), variables: { input: { article, direction } } }),
    watch(id) {
      const revisions = [votes.shown(id)?.revision ?? -1];
      const watching = client
        .subscribe({ query: gql(Changed), variables: { ids: [id], revisions } })
        .subscribe(() => {});
      ends.push(() => watching.unsubscribe());
    },
    end: () => {
      for (const end of ends) end();
    },
  };
}

// What relay-compiler makes is tested in clients/relay: here, the store has an article as it would be written.
function withRelay(user: string, wire: Wire): Page {
  const votes = new Votes();
  const network = createNetwork({ url, headers: { "X-User-ID": user }, votes, fetch: wire.fetch, ...quick });
  const environment = new Environment({ network, store: new Store(new RecordSource()) });
  const ends: (() => void)[] = [showInRelay(votes, environment)];
  const ask = (text: string, variables: object) =>
    network.execute(
      { text, operationKind: /^\w+/.exec(text)?.[0], name: "", metadata: {}, id: null, cacheID: "" } as never,
      variables as never,
      {},
    );
  return {
    async open(id, show) {
      const { data } = (await ask(Article, { id }).toPromise()) as { data: { article: object } };
      environment.commitUpdate((store) => {
        const record = store.create(id, "Article");
        for (const [field, value] of Object.entries(data.article)) record.setValue(value, field);
      });
      const now = () => {
        const { votes, viewerVote } = environment.getStore().getSource().get(id) as unknown as Shown;
        show({ votes, viewerVote });
      };
      now();
      ends.push(votes.subscribe(now));
    },
    vote: (article, direction) =>
      ask(Vote, { input: { article, direction } }).toPromise() as Promise<unknown>,
    watch(id) {
      const revisions = [votes.shown(id)?.revision ?? -1];
      const { unsubscribe } = ask(Changed, { ids: [id], revisions }).subscribe({});
      ends.push(unsubscribe);
    },
    end: () => {
      for (const end of ends) end();
    },
  };
}

describe.each([
  ["no client", withoutClient],
  ["urql with graphcache", withUrql],
  ["Apollo Client", withApollo],
  ["Relay", withRelay],
])("%s", (name, page) => {
  const user = `${name.replaceAll(" ", "-")}-${Date.now()}`; // who has not voted yet, if the server is not a new one

  /** Opens an article of its own for the test, and collects what is shown. */
  async function open(number: number) {
    const id = `article:${1400 + ["n", "u", "A", "R"].indexOf(name[0] as string) * 10 + number}`;
    const wire = new Wire();
    const { votes: before } = await standing("", id);
    const client = page(user, wire);
    const shown: Shown[] = [];
    await client.open(id, ({ votes, viewerVote }) => {
      const last = shown.at(-1);
      if (last?.votes !== votes || last.viewerVote !== viewerVote) shown.push({ votes, viewerVote });
    });
    return { id, wire, before, client, shown };
  }

  test("a vote shows before it is sent, and stays", async () => {
    const { id, wire, before, client, shown } = await open(1);
    const release = wire.hold();
    const done = client.vote(id, "UP");
    await vi.waitFor(() => expect(shown.at(-1)).toEqual({ votes: before + 1, viewerVote: "UP" }));
    release();
    await done;
    await client.vote(id, "NONE");
    expect(shown).toEqual([
      { votes: before, viewerVote: "NONE" },
      { votes: before + 1, viewerVote: "UP" },
      { votes: before, viewerVote: "NONE" },
    ]);
    client.end();
  });

  test("many presses send two votes, and never flicker while others vote", async () => {
    const { id, wire, before, client, shown } = await open(2);
    client.watch(id);
    await vi.waitFor(() => expect(wire.opened).toBe(1));
    const release = wire.hold();
    const done = (["UP", "NONE", "UP", "NONE", "DOWN"] as const).map((direction) =>
      client.vote(id, direction),
    );
    await vi.waitFor(() => expect(shown.at(-1)).toEqual({ votes: before - 1, viewerVote: "DOWN" }));
    const pressed = shown.length;
    await vote(`${user}-other`, id);
    release();
    await Promise.all(done);
    await vi.waitFor(() => expect(shown.at(-1)).toEqual({ votes: before, viewerVote: "DOWN" }), 5000);
    expect(wire.mutations).toBe(2);
    expect(await standing(user, id)).toEqual({ votes: before, viewerVote: "DOWN" });
    // Since the last press, one number and no other: the other user's vote.
    expect(shown.slice(pressed)).toEqual([{ votes: before, viewerVote: "DOWN" }]);
    client.end();
  });

  test("a connection that is lost goes on with what was missed", async () => {
    const { id, wire, before, client, shown } = await open(3);
    client.watch(id);
    await vi.waitFor(() => expect(wire.opened).toBe(1));
    await vote(`${user}-1`, id);
    await vi.waitFor(() => expect(shown.at(-1)?.votes).toBe(before + 1), 5000);
    wire.cut();
    await vote(`${user}-2`, id);
    await vi.waitFor(() => expect(shown.at(-1)?.votes).toBe(before + 2), 5000);
    expect(wire.opened).toBe(2);
    client.end();
  });
});

test("a refused vote is taken back, with the reason", async () => {
  const site = connect({ url });
  const [id] = (await newest(1)) as [string];
  await site.execute(Article, { id });
  const before = site.votes.shown(id)?.votes;
  expect(await site.vote(id, "UP")).toMatch(/sign/);
  expect(site.votes.shown(id)?.votes).toBe(before);
  await expect(site.execute("{ nothing }")).rejects.toThrow(/nothing/);
});

test("posts that were missed are read after a lost connection", async () => {
  const wire = new Wire();
  const titles: string[] = [];
  const post = (title: string) =>
    execute("poster", "mutation ($input: PostInput!) { post(input: $input) { userErrors { message } } }", {
      input: { title, text: title, groups: ["package"] },
    });
  const end = follow<{ data?: PostedResult }>(
    { url, fetch: wire.fetch, ...quick },
    { query: Posted, variables: { group: "package" } },
    { next: ({ data }) => data && titles.push(data.articlePosted.node.title) },
  );
  await vi.waitFor(() => expect(wire.opened).toBe(1));
  await new Promise((resolve) => setTimeout(resolve, 300));
  await post("one");
  await vi.waitFor(() => expect(titles).toEqual(["one"]), 5000);
  wire.cut();
  await post("two");
  await post("three");
  await vi.waitFor(() => expect(titles).toEqual(["one", "two", "three"]), 5000);
  end();
});
