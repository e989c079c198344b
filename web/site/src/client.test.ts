import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Client, DocumentInput } from "@urql/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connect, inTurn } from "./client";
import * as operations from "./gql";
import { Article, type ArticleQuery, Vote, type VoteDirection } from "./gql";
import type { Session } from "./session";

// The connection for live updates. It does nothing but what a test has it do.
class Socket extends EventTarget {
  static all: Socket[] = [];
  static OPEN = 1;
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
  hears(message: object) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  close() {}
}

/** A request that waits for its answer. */
interface Request {
  body: { query: string; variables: Record<string, unknown> };
  headers: Headers;
  answer(data: object | null, status?: number): void;
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
        answer: (data, status = 200) => {
          const headers = { "Content-Type": "application/json" };
          const errors = status === 200 ? undefined : [{ message: "refused" }];
          resolve(new Response(JSON.stringify({ data, errors }), { status, headers }));
        },
        fail: () => reject(new TypeError("Failed to fetch")),
      });
    });
  vi.stubGlobal("fetch", fetch);
});
afterEach(() => {
  for (const request of requests) request.fail(); // what waits for its turn would wait in the next test
  for (const end of ends) end();
  ends = [];
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function start(session: Session = { credentials: {} }) {
  const events = { connected: vi.fn(), closed: vi.fn(), refused: vi.fn() };
  const { client, end } = connect(session, events);
  ends.push(end);
  return { client, events };
}

const sent = (count: number) => vi.waitFor(() => expect(requests).toHaveLength(count));
const quiet = () => new Promise((resolve) => setTimeout(resolve, 20));

/** What the server says of the article when alice votes so and others stand at 4 votes. */
const voted = (viewerVote: VoteDirection, votes = 4) => {
  const mine = { UP: 1, DOWN: -1, NONE: 0 }[viewerVote];
  return {
    __typename: "Article",
    id: "article:17",
    votes: votes + mine,
    upvotes: votes + 1 + Number(mine === 1),
    downvotes: 1 + Number(mine === -1),
    score: 1_700_000_000 + (votes + mine) * 432,
    isInteresting: false,
    viewerVote,
    viewerCanVote: true,
  };
};
const article = {
  ...voted("NONE"),
  number: 17,
  title: "An article",
  link: null,
  text: "text",
  poster: { __typename: "User", id: "user:bob", name: "bob" },
  createdAt: "2026-11-21T08:00:00Z",
  groups: [],
  votingEndsAt: "2026-11-28T08:00:00Z",
  deletedAt: null,
};
const tally = (viewerVote: VoteDirection, votes?: number) => {
  const { __typename, isInteresting, viewerCanVote, ...numbers } = voted(viewerVote, votes);
  return numbers;
};

/** Shows the article, and keeps what it shows. */
async function show(client: Client) {
  let shown: ArticleQuery["article"] | undefined;
  const { unsubscribe } = client.query(Article, { id: "article:17" }).subscribe(({ data }) => {
    shown = data?.article;
  });
  ends.push(unsubscribe);
  await sent(1);
  requests[0]?.answer({ article });
  await vi.waitFor(() => expect(shown).toMatchObject(tally("NONE")));
  return () => shown;
}

const vote = (client: Client, direction: VoteDirection) =>
  client.mutation(Vote, { input: { article: "article:17", direction } }, { fetch: inTurn }).toPromise();

const counts = (viewerVote: VoteDirection, votes?: number) => ({
  vote: { __typename: "VotePayload", article: voted(viewerVote, votes), userErrors: [] },
});
const refuses = {
  vote: {
    __typename: "VotePayload",
    article: null,
    userErrors: [{ __typename: "BasicUserError", code: "VOTING_CLOSED", message: "voting is over" }],
  },
};

test("a vote counts at once, and settles to what the server says", async () => {
  const { client } = start();
  const shown = await show(client);
  const done = vote(client, "UP");
  await vi.waitFor(() => expect(shown()).toMatchObject(tally("UP")));
  expect(shown()).toMatchObject({ title: "An article", isInteresting: false, viewerCanVote: true });
  await sent(2);
  expect(requests[1]?.body.variables).toEqual({ input: { article: "article:17", direction: "UP" } });
  requests[1]?.answer(counts("UP", 9)); // others voted, too
  await done;
  expect(shown()).toMatchObject(tally("UP", 9));
});

test.each([
  ["a rule", (request?: Request) => request?.answer(refuses)],
  ["a failure", (request?: Request) => request?.fail()],
])("a vote that is refused by %s is taken back", async (_, refuse) => {
  const { client } = start();
  const shown = await show(client);
  const done = vote(client, "DOWN");
  await vi.waitFor(() => expect(shown()).toMatchObject(tally("DOWN")));
  await sent(2);
  refuse(requests[1]);
  await done;
  expect(shown()).toMatchObject(tally("NONE"));
});

test("two votes in a row count each at once, and reach the server in their order", async () => {
  const { client } = start();
  const shown = await show(client);
  const first = vote(client, "UP");
  const second = vote(client, "DOWN");
  await vi.waitFor(() => expect(shown()).toMatchObject(tally("DOWN")));
  await sent(2);
  await quiet();
  expect(requests).toHaveLength(2);
  requests[1]?.answer(counts("UP"));
  await sent(3);
  expect(shown()).toMatchObject(tally("DOWN"));
  requests[2]?.answer(counts("DOWN"));
  await Promise.all([first, second]);
  expect(shown()).toMatchObject(tally("DOWN"));
});

test("a vote for what is not shown changes nothing before the answer", async () => {
  const { client } = start();
  const done = vote(client, "UP");
  await sent(1);
  requests[0]?.answer(counts("UP"));
  expect((await done).data?.vote?.article).toMatchObject(tally("UP"));
});

test.each([
  ["was answered", (request?: Request) => request?.answer({})],
  ["was answered with an error", (request?: Request) => request?.answer(null, 500)],
  ["failed", (request?: Request) => request?.fail()],
])("a change waits until the one before it %s", async (_, end) => {
  const first = inTurn("/query").catch(() => {});
  const second = inTurn("/query");
  await sent(1);
  await quiet();
  expect(requests).toHaveLength(1);
  end(requests[0]);
  await sent(2);
  requests[1]?.answer({});
  expect((await second).ok).toBe(true);
  await first;
});

test("a change that gets no answer does not hold up the next for ever", async () => {
  const slow = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(slow.signal);
  const first = inTurn("/query");
  const second = inTurn("/query");
  await sent(1);
  slow.abort(new DOMException("too slow", "TimeoutError"));
  await expect(first).rejects.toThrow("too slow");
  await sent(2);
  requests[1]?.answer({});
  await second;
});

test("a name of any letters is sent as bytes of UTF-8", async () => {
  const { client } = start({ name: "Zoë 🐹", credentials: { "X-User-ID": "Zoë 🐹" } });
  void client.query(Article, { id: "article:17" }).toPromise();
  await sent(1);
  const bytes = [...(requests[0]?.headers.get("X-User-ID") ?? "")].map((c) => c.charCodeAt(0));
  expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe("Zoë 🐹");
  expect(requests[0]?.headers.get("Content-Type")).toBe("application/json");
});

test("the socket says who is asking, and tells when the server does not know them", async () => {
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

test.each([
  [401, 1],
  [503, 0],
])(
  "an answer with the status %d says %d times that the server does not know who asks",
  async (status, times) => {
    const { client, events } = start();
    const done = client.query(Article, { id: "article:17" }).toPromise();
    await sent(1);
    requests[0]?.answer(null, status);
    await done;
    expect(events.refused).toHaveBeenCalledTimes(times);
  },
);

// A server that runs no other documents is told of them by public/documents.json.
test("what is sent is what documents.json has, and that is all", async () => {
  const { client } = start();
  await vi.waitFor(() => expect(Socket.all[0]?.onopen).toBeDefined());
  const [socket] = Socket.all;
  socket?.onopen?.();
  await vi.waitFor(() => expect(socket?.sent).toHaveLength(1));
  socket?.hears({ type: "connection_ack" });

  for (const document of Object.values(operations) as unknown as string[]) {
    const run = document.slice(0, document.indexOf(" ")) as "query" | "mutation" | "subscription";
    const variables = { input: { article: "article:17" }, onSite: true, inGroup: true };
    const { unsubscribe } = client[run](document as DocumentInput, variables).subscribe(() => {});
    ends.push(unsubscribe);
  }
  await vi.waitFor(() =>
    expect(requests.length + (socket?.sent.length ?? 0) - 1).toBe(Object.keys(operations).length),
  );
  const subscribed = socket?.sent.slice(1).map((message) => JSON.parse(message).payload.query) ?? [];
  const texts = [...requests.map(({ body }) => body.query), ...subscribed];
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  expect(Object.fromEntries(texts.map((text) => [hash(text), text]))).toEqual(
    JSON.parse(readFileSync("site/public/documents.json", "utf8")),
  );
});
