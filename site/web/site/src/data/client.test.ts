import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Client, CombinedError, DocumentInput } from "@urql/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as actingOperations from "./acting-gql";
import { connect, rejection } from "./client";
import * as operations from "./gql";
import { Article, type ArticleQuery, Vote, type VoteDirection } from "./gql";
import * as laterOperations from "./later-gql";
import * as moderationOperations from "./moderation-gql";
import { explainError } from "./problem";
import * as reportingOperations from "./reporting-gql";
import { inOrder } from "./requests";
import type { Session } from "./session";
import * as typedOperations from "./typed-gql";

// A fake WebSocket, controlled by the test.
class Socket extends EventTarget {
  static all: Socket[] = [];
  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSING = 2;
  static CLOSED = 3;
  readyState = 1;
  sent: string[] = [];
  onopen?: () => void;
  onmessage?: (event: object) => void;
  onclose?: (event: object) => void;
  readonly url: string;
  constructor(url: string) {
    super();
    this.url = url;
    Socket.all.push(this);
  }
  send(message: string) {
    this.sent.push(message);
  }
  receive(message: object) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  close() {}
}

/** A request that waits for its response. */
interface Request {
  body: { query: string; variables: Record<string, unknown> };
  headers: Headers;
  respond(data: object | null, status?: number): void;
  fail(): void;
}

let requests: Request[] = [];
let ends: (() => void)[] = [];

beforeEach(() => {
  requests = [];
  Socket.all = [];
  vi.stubGlobal("WebSocket", Socket);
  const fetch = (_: string, init: RequestInit = {}) =>
    new Promise((resolve, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      requests.push({
        body: JSON.parse((init.body as string) ?? "{}"),
        headers: new Headers(init.headers),
        respond: (data, status = 200) => {
          const headers = { "Content-Type": "application/json" };
          const extensions = status === 503 ? { code: "UNAVAILABLE" } : undefined;
          const errors = status === 200 ? undefined : [{ message: "refused", extensions }];
          resolve(new Response(JSON.stringify({ data, errors }), { status, headers }));
        },
        fail: () => reject(new TypeError("Failed to fetch")),
      });
    });
  vi.stubGlobal("fetch", fetch);
});
afterEach(() => {
  for (const request of requests) request.fail(); // or the requests queued after it would run in the next test
  for (const end of ends) end();
  ends = [];
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function start(session: Session = { credentials: {} }) {
  const events = { connected: vi.fn(), closed: vi.fn(), refused: vi.fn(), unavailable: vi.fn() };
  const { client, end } = connect(session, events);
  ends.push(end);
  return { client, events };
}

const sent = (count: number) => vi.waitFor(() => expect(requests).toHaveLength(count));
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

/** The article as the server returns it after the viewer's vote. The votes of others sum up to `votes`. */
const voted = (viewerVote: VoteDirection, votes = 4) => {
  const own = { UP: 1, DOWN: -1, NONE: 0 }[viewerVote];
  return {
    __typename: "Article",
    id: "article:17",
    votes: votes + own,
    upvotes: votes + 1 + Number(own === 1),
    downvotes: 1 + Number(own === -1),
    score: 1_700_000_000 + (votes + own) * 432,
    isInteresting: false,
    viewerVote,
    viewerCanVote: true,
    revision: 5,
  };
};
const article = {
  ...voted("NONE"),
  number: 17,
  title: "An article",
  link: null,
  host: null,
  text: "text",
  poster: { __typename: "User", id: "user:bob", name: "bob" },
  createdAt: "2026-11-21T08:00:00.000Z",
  groups: [],
  votingEndsAt: "2026-11-28T08:00:00.000Z",
  editedAt: null,
  viewerCanEdit: false,
  deletedAt: null,
  viewerCanDelete: false,
  viewerHasSaved: null,
  removal: null,
};
const frame = {
  site: {
    __typename: "Site",
    signIn: "NAME",
    signInURL: null,
    explorer: true,
    rules: {
      __typename: "SiteRules",
      voteScore: 432,
      downvotes: true,
      ranking: "LINEAR",
      rankCap: 86_400,
      halfLife: 13_560,
      editWindow: 900,
    },
  },
  viewer: null,
};
const tally = (viewerVote: VoteDirection, votes?: number) => {
  const { __typename, isInteresting, viewerCanVote, ...numbers } = voted(viewerVote, votes);
  return numbers;
};

/** Subscribes to the article, and returns a function that returns its latest state. */
async function show(client: Client) {
  let shown: ArticleQuery["article"] | undefined;
  const { unsubscribe } = client.query(Article, { id: "article:17" }).subscribe(({ data }) => {
    shown = data?.article;
  });
  ends.push(unsubscribe);
  await sent(1);
  requests[0]?.respond({ ...frame, article });
  await vi.waitFor(() => expect(shown).toMatchObject(tally("NONE")));
  return () => shown;
}

const vote = (client: Client, direction: VoteDirection) =>
  client
    .mutation(Vote, { input: { article: "article:17", direction } }, { fetch: inOrder("Vote article:17") })
    .toPromise();

const counts = (viewerVote: VoteDirection, votes?: number) => ({
  vote: { __typename: "VotePayload", article: voted(viewerVote, votes), userErrors: [] },
});
const refusal = {
  vote: {
    __typename: "VotePayload",
    article: null,
    userErrors: [{ __typename: "BasicUserError", code: "VOTING_CLOSED", message: "voting is over" }],
  },
};

test("a vote counts at once, then shows the server's numbers", async () => {
  const { client } = start();
  const shown = await show(client);
  const done = vote(client, "UP");
  await vi.waitFor(() => expect(shown()).toMatchObject(tally("UP")));
  expect(shown()).toMatchObject({ title: "An article", isInteresting: false, viewerCanVote: true });
  await sent(2);
  expect(requests[1]?.body.variables).toEqual({ input: { article: "article:17", direction: "UP" } });
  requests[1]?.respond(counts("UP", 9)); // others voted, too
  await done;
  expect(shown()).toMatchObject(tally("UP", 9));
});

test.each([
  ["a refusal", (request?: Request) => request?.respond(refusal)],
  ["a failure", (request?: Request) => request?.fail()],
])("a vote is undone after %s", async (_, refuse) => {
  const { client } = start();
  const shown = await show(client);
  const done = vote(client, "DOWN");
  await vi.waitFor(() => expect(shown()).toMatchObject(tally("DOWN")));
  await sent(2);
  refuse(requests[1]);
  await done;
  expect(shown()).toMatchObject(tally("NONE"));
});

test("two quick votes each count at once, and reach the server in order", async () => {
  const { client } = start();
  const shown = await show(client);
  const first = vote(client, "UP");
  const second = vote(client, "DOWN");
  await vi.waitFor(() => expect(shown()).toMatchObject(tally("DOWN")));
  await sent(2);
  await pause();
  expect(requests).toHaveLength(2);
  requests[1]?.respond(counts("UP"));
  await sent(3);
  expect(shown()).toMatchObject(tally("DOWN"));
  requests[2]?.respond(counts("DOWN"));
  await Promise.all([first, second]);
  expect(shown()).toMatchObject(tally("DOWN"));
});

test("an answer with an older revision changes no counts, until the page has connected again", async () => {
  const { client } = start();
  const shown = await show(client);
  const read = async (answer: object) => {
    const count = requests.length;
    const again = client.query(Article, { id: "article:17" }, { requestPolicy: "network-only" }).toPromise();
    await sent(count + 1);
    requests[count]?.respond({ ...frame, article: { ...article, ...answer } });
    await again;
  };
  await read({ ...voted("NONE", 8), revision: 8, title: "Edited" });
  await read({ ...voted("UP", 6), revision: 7 });
  expect(shown()).toMatchObject({ ...tally("NONE", 8), revision: 8 });
  const [socket] = Socket.all;
  socket?.onopen?.();
  socket?.receive({ type: "connection_ack" });
  await pause();
  await read({ ...voted("UP", 6), revision: 7 }); // the site was restored from a backup
  expect(shown()).toMatchObject({ ...tally("UP", 6), revision: 7 });
});

test("a vote on an article that is not cached changes nothing before the response", async () => {
  const { client } = start();
  const done = vote(client, "UP");
  await sent(1);
  requests[0]?.respond(counts("UP"));
  expect((await done).data?.vote?.article).toMatchObject(tally("UP"));
});

test("a name is sent as UTF-8", async () => {
  const { client } = start({ credentials: { "X-User-ID": "Zoë 🐹" } });
  void client.query(Article, { id: "article:17" }).toPromise();
  await sent(1);
  const bytes = [...(requests[0]?.headers.get("X-User-ID") ?? "")].map((c) => c.charCodeAt(0));
  expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe("Zoë 🐹");
  expect(requests[0]?.headers.get("Content-Type")).toBe("application/json");
});

test("nothing is sent on a closing socket", async () => {
  start();
  await vi.waitFor(() => expect(Socket.all[0]?.onopen).toBeDefined());
  const socket = Socket.all[0] as Socket;
  socket.onopen?.();
  await vi.waitFor(() => expect(socket.sent).toHaveLength(1));
  socket.receive({ type: "connection_ack" });
  socket.receive({ type: "ping" });
  expect(socket.sent).toHaveLength(2);
  socket.readyState = Socket.CLOSING;
  socket.receive({ type: "ping" });
  expect(socket.sent).toHaveLength(2);
});

test("the socket sends the credentials, and reports when the server rejects them", async () => {
  const credentials = { Authorization: "Bearer abc" };
  const { events } = start({ credentials });
  await vi.waitFor(() => expect(Socket.all).toHaveLength(1));
  const [socket] = Socket.all;
  expect(socket?.url).toBe("ws://localhost:3000/query");
  await vi.waitFor(() => expect(socket?.onopen).toBeDefined());
  socket?.onopen?.();
  await vi.waitFor(() => expect(socket?.sent).toHaveLength(1));
  expect(JSON.parse(socket?.sent[0] ?? "")).toEqual({ type: "connection_init", payload: credentials });
  expect(events.connected).not.toHaveBeenCalled();
  socket?.onclose?.(new CloseEvent("close", { code: 4403, reason: "Forbidden" }));
  await vi.waitFor(() => expect(events.closed).toHaveBeenCalledTimes(1));
  expect(events.refused).toHaveBeenCalledTimes(1);
});

test("the page learns that the store is away, and why credentials are rejected", async () => {
  const { client, events } = start();
  const asked = client.query(Article, { id: "article:17" }).toPromise();
  await sent(1);
  requests[0]?.respond(null, 503);
  await asked;
  expect(events.unavailable).toHaveBeenCalledTimes(1);

  const answers: [number, string, string?][] = [
    [401, "TOKEN_INVALID", "The token is malformed."],
    [401, "TOKEN_KEY_UNKNOWN"],
    [503, "UNAVAILABLE"],
    [200, ""],
  ];
  for (const [status, code, want] of answers) {
    const answer = { errors: [{ message: "the token is malformed", extensions: { code } }] };
    vi.stubGlobal("fetch", async () => new Response(JSON.stringify(answer), { status }));
    expect(await rejection({ Authorization: "Bearer x" })).toBe(want);
  }
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
  expect(await rejection({})).toBeUndefined();
});

test("nothing is left to do after the end", async () => {
  vi.useFakeTimers();
  try {
    start();
    await vi.advanceTimersByTimeAsync(0);
    Socket.all[0]?.onclose?.(new CloseEvent("close", { code: 1006 }));
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(1); // until it connects again
    ends.pop()?.();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Socket.all).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  [401, 1],
  [503, 0],
])("a response with status %d reports rejected credentials %d times", async (status, times) => {
  const { client, events } = start();
  const done = client.query(Article, { id: "article:17" }).toPromise();
  await sent(1);
  requests[0]?.respond(null, status);
  await done;
  expect(events.refused).toHaveBeenCalledTimes(times);
});

test("an answer that is no GraphQL is an error of the server, and a failed request is not", async () => {
  const { client } = start();
  const explained = async (answer: () => Promise<Response>) => {
    vi.stubGlobal("fetch", answer);
    const { error } = await client.query(Article, { id: "article:17" }).toPromise();
    return explainError(error as CombinedError);
  };
  const wrong = "Something went wrong on the server.";
  expect(await explained(async () => new Response("<h1>Bad Gateway</h1>", { status: 502 }))).toBe(wrong);
  expect(await explained(async () => new Response("null"))).toBe(wrong);
  expect(await explained(() => Promise.reject(new TypeError("Failed to fetch")))).toBe(
    "The server cannot be reached.",
  );
});

// A server that only runs trusted documents reads them from public/documents.json.
test("documents.json has exactly the documents that the site sends", async () => {
  const { client } = start();
  await vi.waitFor(() => expect(Socket.all[0]?.onopen).toBeDefined());
  const [socket] = Socket.all;
  socket?.onopen?.();
  await vi.waitFor(() => expect(socket?.sent).toHaveLength(1));
  socket?.receive({ type: "connection_ack" });

  const all = {
    ...operations,
    ...laterOperations,
    ...moderationOperations,
    ...reportingOperations,
    ...actingOperations,
    ...typedOperations,
  };
  const texts = Object.values(all) as unknown as string[];
  const documents = texts.filter((text) => !text.startsWith("fragment"));
  for (const document of documents) {
    const run = document.slice(0, document.indexOf(" ")) as "query" | "mutation" | "subscription";
    const variables = { input: { article: "article:17" }, onSite: true, inGroup: true };
    const { unsubscribe } = client[run](document as DocumentInput, variables).subscribe(() => {});
    ends.push(unsubscribe);
  }
  await vi.waitFor(() => expect(requests.length + (socket?.sent.length ?? 0) - 1).toBe(documents.length));
  const subscribed = socket?.sent.slice(1).map((message) => JSON.parse(message).payload.query) ?? [];
  const sent = [...requests.map(({ body }) => body.query), ...subscribed];
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  expect(Object.fromEntries(sent.map((text) => [hash(text), text]))).toEqual(
    JSON.parse(readFileSync("site/public/documents.json", "utf8")),
  );
});
