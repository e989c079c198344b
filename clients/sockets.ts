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
import { Answers, ask, begun, begunFor, pause, post, request, vote } from "./live";
import { main, url } from "./site";

const socketURL = url.replace(/^http/, "ws");

// Everything else is as it comes: above all lazyCloseTimeout, which is 0, so that
// the client closes the socket as soon as it takes every operation for complete.
const newClient = (user?: string): Client =>
  createClient({ url: socketURL, webSocketImpl: WebSocket, connectionParams: user === undefined ? {} : { "X-User-ID": user } });

function start<Data, Variables>(client: Client, document: TypedDocumentNode<Data, Variables>, variables: Variables) {
  const answers = new Answers<Data>();
  return { answers, stop: client.subscribe<Data>(request(document, variables), answers) };
}

async function once<Data, Variables>(client: Client, document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data> {
  const { answers } = start(client, document, variables);
  await answers.finished();
  const [data, ...more] = answers.events;
  assert(data && more.length === 0);
  return data;
}

const last = ({ events }: Answers<ChangedSubscription>) => events.at(-1)?.articleChanged;

/** Votes, and waits until a subscription to that article alone has told so. */
async function voteAndHear(answers: Answers<ChangedSubscription>, user: string, article: string): Promise<void> {
  const before = answers.all.length;
  const voted = await vote(user, article);
  await answers.until("a vote is not told", () => answers.all.length > before);
  assert.equal(answers.all.length, before + 1, "a vote is told once");
  const { viewerVote, ...told } = last(answers) ?? {};
  assert.equal(viewerVote, null, "nobody is signed in");
  assert.deepEqual({ ...told, viewerVote: "UP" }, voted, "an event has the newest state of all fields");
}

async function refused(client: Client, query = "{ nothing }", code = "GRAPHQL_VALIDATION_FAILED"): Promise<void> {
  const answers = new Answers();
  client.subscribe({ query }, answers);
  await answers.until("an invalid query is not answered", () => answers.failure !== undefined || answers.completed);
  assert(JSON.stringify(answers.failure).includes(code), JSON.stringify(answers));
  assert.deepEqual([answers.all, answers.completed], [[], false]);
}

// A server that says complete after error makes this client close the socket under
// the other subscriptions, and take them for complete.
async function invalidAmongLive(): Promise<void> {
  const client = newClient();
  const articles = [1101, 1102, 1103, 1104, 1105].map((number) => `article:${number}`);
  await Promise.all(
    articles.map(async (article) => {
      const { answers, stop } = start(client, ChangedDocument, { ids: [article] });
      await refused(client);
      await begunFor(answers, "mixed", article);
      for (const voter of ["mixed-1", "mixed-2", "mixed-3"]) {
        await Promise.all([voteAndHear(answers, voter, article), refused(client)]);
      }
      assert.equal(answers.completed, false);
      stop();
      await answers.finished();
    }),
  );
  for (let i = 0; i < 5; i++) await refused(client);
  // The reference server closes the socket for this, which the protocol does not ask for.
  await refused(client, "{", "GRAPHQL_PARSE_FAILED");
}

async function queriesAndMutations(): Promise<void> {
  const client = newClient("socket-poster");
  const { viewer, articles } = await once(client, FrontPageDocument, {});
  assert.deepEqual([viewer?.name, articles.length], ["socket-poster", 25]);
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

async function eachViewerItsOwn(): Promise<void> {
  const article = "article:1110";
  const viewers = ["socket-alice", "socket-bob"].map((user) => {
    const client = newClient(user);
    return { client, ...start(client, ChangedDocument, { ids: [article] }) };
  });
  for (const [i, { answers }] of viewers.entries()) await begunFor(answers, `own-${i}`, article);
  const seen = async (votes: number) => {
    for (const { answers } of viewers) await answers.until(`${votes} votes are not told`, () => last(answers)?.votes === votes);
    return viewers.map(({ answers }) => last(answers)?.viewerVote);
  };
  const [alice, bob] = viewers;
  assert(alice && bob);
  const up = await once(alice.client, VoteDocument, { input: { article } });
  assert.deepEqual(await seen(up.vote?.article?.votes ?? 0), ["UP", "NONE"]);
  const down = await once(bob.client, VoteDocument, { input: { article, direction: "DOWN" } });
  assert.deepEqual(await seen(down.vote?.article?.votes ?? 0), ["UP", "DOWN"]);
  for (const { stop } of viewers) stop();
}

async function stoppedAndStartedAgain(): Promise<void> {
  const [article, another] = ["article:1120", "article:1121"];
  const client = newClient();
  // This one keeps the socket open.
  const witness = start(client, ChangedDocument, { ids: [article, another] });
  await begunFor(witness.answers, "again", another);

  const first = start(client, ChangedDocument, { ids: [article] });
  await begunFor(first.answers, "again", article);
  await voteAndHear(first.answers, "again-1", article);
  first.stop();
  await first.answers.finished();
  const { length } = first.answers.all;

  const missed = await vote("again-2", article);
  await witness.answers.until("the witness is told", () => last(witness.answers)?.votes === missed.votes);
  const second = start(client, ChangedDocument, { ids: [article] });
  await begunFor(second.answers, "again-3", article);
  await voteAndHear(second.answers, "again-4", article);
  assert.equal(first.answers.all.length, length, "nothing is told after the end");

  // Now the socket is closed, and the next subscription opens another.
  second.stop();
  witness.stop();
  const third = start(client, ChangedDocument, { ids: [article] });
  await begunFor(third.answers, "again-5", article);
  await voteAndHear(third.answers, "again-6", article);
  third.stop();
}

async function changedGroups(): Promise<void> {
  const { id: article } = await post("grouper", "moves between groups", ["before"]);
  const { answers, stop } = start(newClient(), ChangedDocument, { ids: [article] });
  await begunFor(answers, "groups", article);
  await ask("grouper", RegroupDocument, { input: { article, add: ["after"], remove: ["before"] } });
  await answers.until("new groups are told", () => last(answers)?.groups[0]?.name === "after");
  assert.equal(last(answers)?.groups.length, 1);
  stop();
}

async function postedArticles(): Promise<void> {
  const client = newClient();
  const site = start(client, PostedDocument, {});
  const group = start(client, PostedDocument, { group: "Watched" });
  for (const [name, { answers }] of Object.entries({ site, group })) {
    await begun(answers, (round) => post("posting", `${name} ${round}`, ["watched"]));
  }
  const titles = ["into the group", "elsewhere", "nowhere", "into the group again"];
  const groups = [["watched"], ["unwatched"], [], ["other", "watched"]];
  for (const [i, title] of titles.entries()) await post("posting", title, groups[i] ?? []);

  // Other tests post at the same time.
  const hears = async ({ answers }: typeof site, expected: unknown[]) => {
    const told = () => answers.events.map(({ articlePosted }) => articlePosted.title).filter((title) => titles.includes(title));
    await answers.until("new articles are told", () => told().length >= expected.length);
    await pause(200);
    assert.deepEqual(told(), expected);
  };
  await Promise.all([hears(site, titles), hears(group, [titles[0], titles[3]])]);
  site.stop();
  group.stop();
}

async function rushOfVotes(): Promise<void> {
  const article = "article:1130";
  const { answers, stop } = start(newClient(), ChangedDocument, { ids: [article] });
  await begunFor(answers, "rush", article);
  const before = answers.all.length;
  const votes = last(answers)?.votes ?? 0;
  const began = Date.now();
  for (let wave = 0; wave < 5; wave++) {
    await Promise.all(Array.from({ length: 300 }, (_, i) => vote(`rush-${wave}-${i}`, article)));
  }
  await answers.until("all votes are told", () => last(answers)?.votes === votes + 1500);
  const seconds = (Date.now() - began) / 1000;
  await pause(500);
  const told = answers.events.slice(before).map(({ articleChanged }) => articleChanged.votes);
  assert.equal(told.at(-1), votes + 1500);
  assert.deepEqual(told, [...told].sort((a, b) => a - b), "no event is older than one before it");
  assert(told.length <= 4 * seconds + 3, `1500 votes in ${seconds} s gave ${told.length} events`);
  console.log(`graphql-ws: 1500 votes in ${seconds} s were told in ${told.length} events`);
  stop();
}

/** What a page of another site gets: the status of the refusal, or 101. */
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
    invalidAmongLive(),
    queriesAndMutations(),
    eachViewerItsOwn(),
    stoppedAndStartedAgain(),
    changedGroups(),
    postedArticles(),
    origins(),
  ]);
  // Alone, since the others would have to wait for it.
  await rushOfVotes();
  console.log("graphql-ws: queries, mutations, and both subscriptions, also among invalid queries");
});
