import { afterEach, expect, test } from "vitest";
import { advance, follow, following, type Live, type Result } from "../src/live.ts";
import { Votes } from "../src/votes.ts";

/** A server of event streams, and what was asked of it. */
class Streams {
  readonly requests: { headers: Headers; variables: Record<string, unknown> }[] = [];
  private to?: ReadableStreamDefaultController<Uint8Array>;
  status = 200;

  readonly fetch: typeof fetch = async (_url, init) => {
    const { variables } = JSON.parse(String(init?.body));
    this.requests.push({ headers: new Headers(init?.headers), variables });
    if (this.status !== 200)
      return new Response(JSON.stringify({ errors: [{ message: "no" }] }), { status: this.status });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.to = controller;
        init?.signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
      },
    });
    return new Response(body);
  };

  write(text: string): void {
    this.to?.enqueue(new TextEncoder().encode(text));
  }
  event(data: object): void {
    this.write(`event: next\ndata: ${JSON.stringify({ data })}\nid: x\n\n`);
  }
  end(): void {
    this.to?.close();
  }
}

const turn = async () => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve));
};
const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

function open(variables: Record<string, unknown>, options: Partial<Live> = {}) {
  const streams = new Streams();
  const seen: unknown[] = [];
  const ended: unknown[] = [];
  const live = { url: "/query", fetch: streams.fetch, wait: async () => {}, ...options };
  const sink = {
    next: ({ data }: Result) => seen.push(data),
    error: (error: unknown) => ended.push(error),
    complete: () => ended.push("complete"),
  };
  endings.push(follow(live, { query: "subscription", variables }, sink));
  return { streams, seen, ended };
}

test("a lost stream goes on from the revisions that the client has", async () => {
  let token = 0;
  const { streams, seen } = open(
    { ids: ["article:1", 2], revisions: [5, -1] },
    { headers: () => ({ Authorization: `Bearer ${++token}` }) },
  );
  await turn();
  streams.write(":\n\nevent: next\nda");
  streams.write('ta: {"data":{"articleChanged":{"id":"article:2","revision":8}}}\n\n');
  await turn();
  streams.end();
  await turn();
  expect(seen).toEqual([{ articleChanged: { id: "article:2", revision: 8 } }]);
  expect(streams.requests.map(({ variables }) => variables)).toEqual([
    { ids: ["article:1", 2], revisions: [5, -1] },
    { ids: ["article:1", 2], revisions: [5, 8] },
  ]);
  expect(streams.requests.map(({ headers }) => headers.get("Authorization"))).toEqual([
    "Bearer 1",
    "Bearer 2",
  ]);
});

test("posts go on after the last cursor", async () => {
  const { streams } = open({ group: "go" });
  await turn();
  streams.event({ articlePosted: { cursor: "a" } });
  streams.event({ articlePosted: { cursor: "b" } });
  await turn();
  streams.end();
  await turn();
  expect(streams.requests[1]?.variables).toEqual({ group: "go", after: "b" });
});

test("a silent connection is lost", async () => {
  const { streams } = open({}, { silence: 10 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(streams.requests.length).toBeGreaterThan(1);
});

test("the server is away for a while, then refuses", async () => {
  const { streams, ended } = open({}, { wait: turn });
  await turn();
  streams.status = 503;
  streams.end();
  await turn();
  await turn();
  expect(ended).toEqual([]);
  streams.status = 401;
  await turn();
  await turn();
  expect(ended).toEqual([[{ message: "no" }]]);
  const { length } = streams.requests;
  await turn();
  expect(streams.requests).toHaveLength(length);
});

test("a stream that is complete does not begin again", async () => {
  const { streams, ended } = open({});
  await turn();
  streams.write("event: complete\ndata:\n\n");
  await turn();
  expect(ended).toEqual(["complete"]);
  expect(streams.requests).toHaveLength(1);
});

test("nothing comes after the end", async () => {
  const streams = new Streams();
  const seen: unknown[] = [];
  const live = following({ url: "/", fetch: streams.fetch, wait: async () => {} });
  const { unsubscribe } = live<Result>({ query: "x" }).subscribe({ next: (result) => seen.push(result) });
  await turn();
  unsubscribe();
  await turn();
  expect([seen, streams.requests.length]).toEqual([[], 1]);
});

test("a lower revision counts once a second stream says the same", async () => {
  const votes = new Votes();
  const article = { id: "article:1", votes: 4, upvotes: 4, downvotes: 0 };
  votes.see("article:1", { ...article, revision: 9 });
  const { streams, seen } = open({ ids: ["article:1"], revisions: [9] }, { votes });
  await turn();
  streams.event({ articleChanged: { ...article, votes: 1, upvotes: 1, revision: 2 } });
  await turn();
  expect(seen).toEqual([]);
  expect(votes.shown("article:1")?.votes).toBe(4);
  expect(streams.requests[1]?.variables).toEqual({ ids: ["article:1"], revisions: [9] });
  streams.event({ articleChanged: { ...article, votes: 1, upvotes: 1, revision: 2 } });
  await turn();
  expect(votes.shown("article:1")).toMatchObject({ votes: 1, revision: 2 });
  expect(seen).toHaveLength(1);
});

test("other results change no variables", () => {
  const variables = { ids: ["article:1"] };
  for (const data of [null, {}, { articleChanged: { id: "article:1" } }]) advance(variables, { data });
  expect(variables).toEqual({ ids: ["article:1"] });
});
