// Server-sent events: graphql-sse, an EventSource as in browsers, and the bytes themselves.
import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import { print } from "graphql";
import { createClient } from "graphql-sse";
import { ChangedDocument, type ChangedSubscription, FrontPageDocument, type FrontPageQuery, PostDocument, type PostMutation } from "./generated/sdl/graphql";
import { Answers, begunFor, pause, request, vote } from "./live";
import { main, url } from "./site";

// Without retries, which would hide that a stream broke.
const newClient = (user: string) => createClient({ url, headers: { "X-User-ID": user }, retryAttempts: 0 });

const client = newClient("events");

function watch(article: string) {
  const answers = new Answers<ChangedSubscription>();
  return { answers, stop: client.subscribe<ChangedSubscription>(request(ChangedDocument, { ids: [article] }), answers) };
}

async function subscription(article: string): Promise<void> {
  const { answers, stop } = watch(article);
  await begunFor(answers, "events-begun", article);
  for (const voter of ["events-1", "events-2", "events-3"]) {
    const before = answers.all.length;
    const voted = await vote(voter, article);
    await answers.until("a vote is not told", () => answers.all.length > before);
    assert.equal(answers.all.length, before + 1, "a vote is told once");
    assert.deepEqual(answers.events.at(-1)?.articleChanged, { ...voted, viewerVote: "NONE" });
  }
  stop();
  await answers.finished();
  const { length } = answers.all;
  await vote("events-4", article);
  await pause(400);
  assert.equal(answers.all.length, length, "nothing is told after the end");
}

async function once<Data>(asked: { query: string; variables?: Record<string, unknown> }) {
  const answers = new Answers<Data>();
  client.subscribe<Data>(asked, answers);
  const [answer, ...more] = await answers.finished();
  assert(answer && more.length === 0);
  return answer;
}

async function queriesAndMutations(): Promise<void> {
  const front = await once<FrontPageQuery>(request(FrontPageDocument, {}));
  assert.deepEqual([front.data?.viewer?.name, front.data?.articles.length], ["events", 25]);
  const posted = await once<PostMutation>(request(PostDocument, { input: { title: "posted by an event stream", text: "graphql-sse" } }));
  assert(posted.data?.post?.article?.id);
  for (const query of ["{", "{ nothing }", "subscription { articleChanged { id } }", "subscription { articleChanged(ids: []) { id } }"]) {
    const { data, errors } = await once({ query });
    assert.equal(data ?? undefined, undefined);
    assert(errors?.length, query);
  }
}

async function iterator(): Promise<void> {
  const article = "article:1330";
  const events = client.iterate<ChangedSubscription>(request(ChangedDocument, { ids: [article] }));
  const first = events.next();
  const heard = new Answers<ChangedSubscription>();
  void first.then(({ value }) => heard.next(value));
  await begunFor(heard, "iterator", article);
  await events.return?.();
  assert.deepEqual(await events.next(), { done: true, value: undefined });
}

// Browsers cannot set headers here, nor can this one.
async function eventSource(): Promise<void> {
  const article = "article:1340";
  const open = (query: string, variables: object) => {
    const source = new EventSource(`${url}?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}`);
    const answers = new Answers<ChangedSubscription & FrontPageQuery>();
    source.addEventListener("next", ({ data }) => answers.next(JSON.parse(data)));
    source.addEventListener("complete", () => {
      source.close();
      answers.complete();
    });
    source.addEventListener("error", ({ message }) => answers.error(message));
    return { source, answers };
  };
  const { source, answers } = open(print(ChangedDocument), { ids: [article] });
  await begunFor(answers, "source", article);
  const { votes } = await vote("source-1", article);
  await answers.until("a vote is not told", () => answers.events.at(-1)?.articleChanged.votes === votes);
  source.close();

  const front = open(print(FrontPageDocument), {});
  const [answer, ...more] = await front.answers.finished();
  assert.deepEqual([answer?.data?.articles.length, more], [25, []]);
}

const send = (accept: string, query: string, method: "GET" | "POST" = "POST", signal: AbortSignal | null = null) =>
  method === "GET"
    ? fetch(`${url}?${new URLSearchParams({ query })}`, { headers: { Accept: accept, "X-User-ID": "bytes" }, signal })
    : fetch(url, {
        method,
        headers: { "Content-Type": "application/json", Accept: accept, "X-User-ID": "bytes" },
        body: JSON.stringify({ query }),
        signal,
      });

async function bytes(): Promise<void> {
  const stream = "text/event-stream";
  const both = "application/json, text/event-stream";
  const watching = 'subscription { articleChanged(ids: ["article:1350"]) { id } }';
  const media = ({ headers }: Response) => headers.get("Content-Type");

  for (const method of ["GET", "POST"] as const) {
    const query = await send(stream, "{ viewer { name } }", method);
    assert.deepEqual([query.status, media(query)], [200, "text/event-stream; charset=utf-8"]);
    assert.equal(await query.text(), ':\n\nevent: next\ndata: {"data":{"viewer":{"name":"bytes"}}}\n\nevent: complete\ndata:\n\n');

    const plain = await send(both, "{ viewer { name } }", method);
    assert.deepEqual([plain.status, media(plain)], [200, "application/json; charset=utf-8"]);
    assert.deepEqual(await plain.json(), { data: { viewer: { name: "bytes" } } });

    for (const accept of [stream, both]) {
      const end = new AbortController();
      const subscription = await send(accept, watching, method, end.signal);
      assert.deepEqual([subscription.status, media(subscription)], [200, "text/event-stream; charset=utf-8"]);
      const { value } = (await subscription.body?.getReader().read()) ?? {};
      assert.equal(String(Buffer.from(value ?? [])), ":\n\n", "the beginning is sent before there is an event");
      end.abort();
    }

    const refused = await send("application/json", watching, method);
    assert.deepEqual([refused.status, media(refused)], [400, "application/json; charset=utf-8"]);
    assert.match(await refused.text(), /"code":"BAD_REQUEST"/);
  }
  const mutation = await send(stream, 'mutation { vote(input: { article: "article:1350" }) { changed } }', "GET");
  assert.deepEqual([mutation.status, mutation.headers.get("Allow")], [405, "POST"]);
  assert.match(await mutation.text(), /"code":"METHOD_NOT_ALLOWED"/);
}

main(async () => {
  const articles = Array.from({ length: 20 }, (_, i) => `article:${1301 + i}`);
  await Promise.all([...articles.map(subscription), queriesAndMutations(), iterator(), eventSource(), bytes()]);
  console.log("server-sent events: graphql-sse with 20 streams at once, and an EventSource");
});
