// graphql-ws, the client that most libraries use for live updates over WebSocket.
import assert from "node:assert/strict";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { type Client, createClient } from "graphql-ws";
import { WebSocket } from "ws";
import {
  ChangedDocument,
  type ChangedSubscription,
  FrontPageDocument,
  PostDocument,
  PostedDocument,
  RegroupDocument,
  VoteDocument,
} from "./generated/sdl/graphql";
import { main, socketURL, url } from "./endpoint";
import { follow } from "./resume";
import { execute, pause, post, request, Results, started, startedFor, vote } from "./live";

// All other options have their defaults. In particular, lazyCloseTimeout is 0, so the client closes the
// socket as soon as it considers all operations complete.
const newClient = (user?: string): Client =>
  createClient({ url: socketURL, webSocketImpl: WebSocket, connectionParams: user === undefined ? {} : { "X-User-ID": user } });

function start<Data, Variables>(client: Client, document: TypedDocumentNode<Data, Variables>, variables: Variables) {
  const results = new Results<Data>();
  return { results, stop: client.subscribe<Data>(request(document, variables), results) };
}

async function once<Data, Variables>(client: Client, document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data> {
  const { results } = start(client, document, variables);
  await results.finished();
  const [data, ...more] = results.events;
  assert(data && more.length === 0);
  return data;
}

const last = ({ events }: Results<ChangedSubscription>) => events.at(-1)?.articleChanged;

/** Votes, and waits for the event of a subscription to this article only. */
async function voteAndReceive(results: Results<ChangedSubscription>, user: string, article: string): Promise<void> {
  const before = results.all.length;
  const voted = await vote(user, article);
  await results.until("no event for a vote", () => results.all.length > before);
  assert.equal(results.all.length, before + 1, "one event per vote");
  const { viewerVote, ...received } = last(results) ?? {};
  assert.equal(viewerVote, null, "the connection is anonymous");
  assert.deepEqual({ ...received, viewerVote: "UP" }, voted, "an event has the latest state of all fields");
}

async function expectRefusal(client: Client, query = "{ nothing }", code = "GRAPHQL_VALIDATION_FAILED"): Promise<void> {
  const results = new Results();
  client.subscribe({ query }, results);
  await results.until("no response to an invalid query", () => results.failure !== undefined || results.completed);
  assert(JSON.stringify(results.failure).includes(code), JSON.stringify(results));
  assert.deepEqual([results.all, results.completed], [[], false]);
}

// If a server sends complete after error, this client closes the socket and considers all its other
// subscriptions complete.
async function invalidDuringSubscriptions(): Promise<void> {
  const client = newClient();
  const articles = [1101, 1102, 1103, 1104, 1105].map((number) => `article:${number}`);
  await Promise.all(
    articles.map(async (article) => {
      const { results, stop } = start(client, ChangedDocument, { ids: [article] });
      await expectRefusal(client);
      await startedFor(results, "mixed", article);
      for (const voter of ["mixed-1", "mixed-2", "mixed-3"]) {
        await Promise.all([voteAndReceive(results, voter, article), expectRefusal(client)]);
      }
      assert.equal(results.completed, false);
      stop();
      await results.finished();
    }),
  );
  for (let i = 0; i < 5; i++) await expectRefusal(client);
  // The reference server closes the socket for this. The protocol does not require it.
  await expectRefusal(client, "{", "GRAPHQL_PARSE_FAILED");
}

async function queriesAndMutations(): Promise<void> {
  const client = newClient("socket-poster");
  const { viewer, articles } = await once(client, FrontPageDocument, {});
  assert.deepEqual([viewer?.name, articles?.length], ["socket-poster", 25]);
  const posted = await once(client, PostDocument, { input: { title: "posted by a socket", text: "graphql-ws" } });
  const article = posted.post?.article?.id;
  assert(article);
  const voter = newClient("socket-voter");
  const voted = await once(voter, VoteDocument, { input: { article } });
  assert.deepEqual([voted.vote?.article?.votes, voted.vote?.article?.viewerVote], [2, "UP"]);
  const { vote } = await once(newClient(), VoteDocument, { input: { article } });
  assert.deepEqual(vote?.userErrors.map(({ code }) => code), ["UNAUTHENTICATED"]);

  const iterated: number[] = [];
  for await (const { data } of voter.iterate<{ articles: unknown[] }>({ query: "{ articles { id } }" })) iterated.push(data?.articles.length ?? 0);
  assert.deepEqual(iterated, [25]);
}

async function viewerVotePerConnection(): Promise<void> {
  const article = "article:1110";
  const viewers = ["socket-alice", "socket-bob"].map((user) => {
    const client = newClient(user);
    return { client, ...start(client, ChangedDocument, { ids: [article] }) };
  });
  for (const [i, { results }] of viewers.entries()) await startedFor(results, `own-${i}`, article);
  const seen = async (votes: number) => {
    for (const { results } of viewers) await results.until(`no event with ${votes} votes`, () => last(results)?.votes === votes);
    return viewers.map(({ results }) => last(results)?.viewerVote);
  };
  const [alice, bob] = viewers;
  assert(alice && bob);
  const up = await once(alice.client, VoteDocument, { input: { article } });
  assert.deepEqual(await seen(up.vote?.article?.votes ?? 0), ["UP", "NONE"]);
  const down = await once(bob.client, VoteDocument, { input: { article, direction: "DOWN" } });
  assert.deepEqual(await seen(down.vote?.article?.votes ?? 0), ["UP", "DOWN"]);
  for (const { stop } of viewers) stop();
}

async function stopAndResubscribe(): Promise<void> {
  const [article, another] = ["article:1120", "article:1121"];
  const client = newClient();
  // A second subscription that keeps the socket open.
  const witness = start(client, ChangedDocument, { ids: [article, another] });
  await startedFor(witness.results, "again", another);

  const first = start(client, ChangedDocument, { ids: [article] });
  await startedFor(first.results, "again", article);
  await voteAndReceive(first.results, "again-1", article);
  first.stop();
  await first.results.finished();
  const { length } = first.results.all;

  const missed = await vote("again-2", article);
  await witness.results.until("no event for the second subscription", () => last(witness.results)?.votes === missed.votes);
  const second = start(client, ChangedDocument, { ids: [article] });
  await startedFor(second.results, "again-3", article);
  await voteAndReceive(second.results, "again-4", article);
  assert.equal(first.results.all.length, length, "no event after the end");

  // Now the client closes the socket, and the next subscription opens a new one.
  second.stop();
  witness.stop();
  const third = start(client, ChangedDocument, { ids: [article] });
  await startedFor(third.results, "again-5", article);
  await voteAndReceive(third.results, "again-6", article);
  third.stop();
}

async function changedGroups(): Promise<void> {
  const { id: article } = await post("grouper", "moves between groups", ["before"]);
  const { results, stop } = start(newClient(), ChangedDocument, { ids: [article] });
  await startedFor(results, "groups", article);
  await execute("grouper", RegroupDocument, { input: { article, add: ["after"], remove: ["before"] } });
  await results.until("no event for new groups", () => last(results)?.groups[0]?.name === "after");
  assert.equal(last(results)?.groups.length, 1);
  stop();
}

async function postedArticles(): Promise<void> {
  const client = newClient();
  const site = start(client, PostedDocument, {});
  const group = start(client, PostedDocument, { group: "Watched" });
  for (const [name, { results }] of Object.entries({ site, group })) {
    await started(results, (round) => post("posting", `${name} ${round}`, ["watched"]));
  }
  const titles = ["into the group", "elsewhere", "nowhere", "into the group again"];
  const groups = [["watched"], ["unwatched"], [], ["other", "watched"]];
  for (const [i, title] of titles.entries()) await post("posting", title, groups[i] ?? []);

  // Other tests post at the same time.
  const expectTitles = async ({ results }: typeof site, expected: unknown[]) => {
    const received = () => results.events.map(({ articlePosted }) => articlePosted.node.title).filter((title) => titles.includes(title));
    await results.until("no event for new articles", () => received().length >= expected.length);
    await pause(200);
    assert.deepEqual(received(), expected);
  };
  await Promise.all([expectTitles(site, titles), expectTitles(group, [titles[0], titles[3]])]);
  site.stop();
  group.stop();
}

async function resumed(): Promise<void> {
  const { id: before } = await post("resuming", "before", []);
  const client = createClient({ url: socketURL, webSocketImpl: WebSocket, retryAttempts: Infinity, retryWait: () => returned });
  const sockets: WebSocket[] = [];
  client.on("connected", (socket) => sockets.push(socket as WebSocket));
  let [returned, returns] = [Promise.resolve(), () => {}];
  const titles: string[] = [];
  const stop = follow(client, before, ({ title }) => titles.push(title), (err) => assert.fail(JSON.stringify(err)));
  const received = async (title: string) => {
    for (let waited = 0; waited < 5000 && !titles.includes(title); waited += 20) await pause(20);
  };
  await post("resuming", "at first", []);
  await received("at first");
  returned = new Promise<void>((resolve) => (returns = resolve));
  const closed = new Promise((resolve) => client.on("closed", resolve));
  sockets[0]?.terminate();
  await closed;
  await post("resuming", "while away", []);
  await pause(200); // else a subscription without a cursor might get it, too
  returns();
  await received("while away");
  await post("resuming", "at last", []);
  await received("at last");
  // Other tests post at the same time.
  assert.deepEqual(titles.filter((title) => ["at first", "while away", "at last"].includes(title)), ["at first", "while away", "at last"]);
  assert.equal(sockets.length, 2);
  stop();
}

async function burstOfVotes(): Promise<void> {
  const article = "article:1130";
  const { results, stop } = start(newClient(), ChangedDocument, { ids: [article] });
  await startedFor(results, "burst", article);
  const before = results.all.length;
  const votes = last(results)?.votes ?? 0;
  const began = Date.now();
  for (let wave = 0; wave < 5; wave++) {
    await Promise.all(Array.from({ length: 300 }, (_, i) => vote(`burst-${wave}-${i}`, article)));
  }
  await results.until("not all votes arrived", () => last(results)?.votes === votes + 1500);
  const seconds = (Date.now() - began) / 1000;
  await pause(500);
  const received = results.events.slice(before).map(({ articleChanged }) => articleChanged.votes);
  assert.equal(received.at(-1), votes + 1500);
  assert.deepEqual(received, [...received].sort((a, b) => a - b), "events arrive in order of their state");
  assert(received.length <= 4 * seconds + 3, `1500 votes in ${seconds} s caused ${received.length} events`);
  console.log(`graphql-ws: 1500 votes in ${seconds} s arrived in ${received.length} events`);
  stop();
}

/** The HTTP status for a WebSocket handshake from a page of the given origin: 101 if accepted. */
const statusFor = (origin: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const socket = new WebSocket(socketURL, "graphql-transport-ws", { origin });
    socket.on("upgrade", () => resolve(101));
    socket.on("open", () => socket.close());
    socket.on("unexpected-response", (sent, { statusCode }) => {
      sent.destroy();
      resolve(statusCode);
    });
    socket.on("error", reject);
  });

async function origins(): Promise<void> {
  assert.equal(await statusFor("https://frontpage.example"), 403);
  assert.equal(await statusFor("null"), 403);
  assert.equal(await statusFor(new URL(url).origin), 101);
}

main(async () => {
  await Promise.all([
    invalidDuringSubscriptions(),
    queriesAndMutations(),
    viewerVotePerConnection(),
    stopAndResubscribe(),
    changedGroups(),
    postedArticles(),
    resumed(),
    origins(),
  ]);
  // Runs alone, because it would delay the others.
  await burstOfVotes();
  console.log("graphql-ws: queries, mutations, and both subscriptions, also together with invalid queries");
});
