// Server-sent events: with graphql-sse, with an EventSource as in browsers, and byte by byte.
import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import { print } from "graphql";
import { createClient } from "graphql-sse";
import { ChangedDocument, type ChangedSubscription, FrontPageDocument, type FrontPageQuery, PostDocument, type PostMutation } from "./generated/sdl/graphql";
import { main, url } from "./endpoint";
import { pause, request, Results, startedFor, vote } from "./live";

// No retries: they would hide a broken stream.
const newClient = (user: string) => createClient({ url, headers: { "X-User-ID": user }, retryAttempts: 0 });

const client = newClient("events");

function watch(article: string) {
  const results = new Results<ChangedSubscription>();
  return { results, stop: client.subscribe<ChangedSubscription>(request(ChangedDocument, { ids: [article] }), results) };
}

async function subscription(article: string): Promise<void> {
  const { results, stop } = watch(article);
  await startedFor(results, "events-starter", article);
  for (const voter of ["events-1", "events-2", "events-3"]) {
    const before = results.all.length;
    const voted = await vote(voter, article);
    await results.until("no event for a vote", () => results.all.length > before);
    assert.equal(results.all.length, before + 1, "one event per vote");
    assert.deepEqual(results.events.at(-1)?.articleChanged, { ...voted, viewerVote: "NONE" });
  }
  stop();
  await results.finished();
  const { length } = results.all;
  await vote("events-4", article);
  await pause(400);
  assert.equal(results.all.length, length, "no event after the end");
}

async function once<Data>(operation: { query: string; variables?: Record<string, unknown> }) {
  const results = new Results<Data>();
  client.subscribe<Data>(operation, results);
  const [result, ...more] = await results.finished();
  assert(result && more.length === 0);
  return result;
}

async function queriesAndMutations(): Promise<void> {
  const front = await once<FrontPageQuery>(request(FrontPageDocument, {}));
  assert.deepEqual([front.data?.viewer?.name, front.data?.articles?.length], ["events", 25]);
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
  const started = new Results<ChangedSubscription>();
  void first.then(({ value }) => started.next(value));
  await startedFor(started, "iterator", article);
  await events.return?.();
  assert.deepEqual(await events.next(), { done: true, value: undefined });
}

// An EventSource cannot set request headers, in browsers and here.
async function eventSource(): Promise<void> {
  const article = "article:1340";
  const open = (query: string, variables: object) => {
    const source = new EventSource(`${url}?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}`);
    const results = new Results<ChangedSubscription & FrontPageQuery>();
    source.addEventListener("next", ({ data }) => results.next(JSON.parse(data)));
    source.addEventListener("complete", () => {
      source.close();
      results.complete();
    });
    source.addEventListener("error", ({ message }) => results.error(message));
    return { source, results };
  };
  const { source, results } = open(print(ChangedDocument), { ids: [article] });
  await startedFor(results, "source", article);
  const { votes } = await vote("source-1", article);
  await results.until("no event for a vote", () => results.events.at(-1)?.articleChanged.votes === votes);
  source.close();

  const front = open(print(FrontPageDocument), {});
  const [result, ...more] = await front.results.finished();
  assert.deepEqual([result?.data?.articles?.length, more], [25, []]);
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

async function rawBytes(): Promise<void> {
  const events = "text/event-stream";
  const both = "application/json, text/event-stream";
  const watching = 'subscription { articleChanged(ids: ["article:1350"]) { id } }';
  const contentType = ({ headers }: Response) => headers.get("Content-Type");

  for (const method of ["GET", "POST"] as const) {
    const query = await send(events, "{ viewer { name } }", method);
    assert.deepEqual([query.status, contentType(query)], [200, "text/event-stream; charset=utf-8"]);
    assert.equal(await query.text(), ':\n\nevent: next\ndata: {"data":{"viewer":{"name":"bytes"}}}\n\nevent: complete\ndata:\n\n');

    const plain = await send(both, "{ viewer { name } }", method);
    assert.deepEqual([plain.status, contentType(plain)], [200, "application/json; charset=utf-8"]);
    assert.deepEqual(await plain.json(), { data: { viewer: { name: "bytes" } } });

    for (const accept of [events, both]) {
      const end = new AbortController();
      const subscription = await send(accept, watching, method, end.signal);
      assert.deepEqual([subscription.status, contentType(subscription)], [200, "text/event-stream; charset=utf-8"]);
      const { value } = (await subscription.body?.getReader().read()) ?? {};
      assert.match(String(Buffer.from(value ?? [])), method === "GET" ? /^:\n\nid: \S+\n\n$/ : /^:\n\n$/, "the response starts before the first event");
      end.abort();
    }

    const refused = await send("application/json", watching, method);
    assert.deepEqual([refused.status, contentType(refused)], [400, "application/json; charset=utf-8"]);
    assert.match(await refused.text(), /"code":"BAD_REQUEST"/);
  }
  const mutation = await send(events, 'mutation { vote(input: { article: "article:1350" }) { changed } }', "GET");
  assert.deepEqual([mutation.status, mutation.headers.get("Allow")], [405, "POST"]);
  assert.match(await mutation.text(), /"code":"METHOD_NOT_ALLOWED"/);
}

main(async () => {
  const articles = Array.from({ length: 20 }, (_, i) => `article:${1301 + i}`);
  await Promise.all([...articles.map(subscription), queriesAndMutations(), iterator(), eventSource(), rawBytes()]);
  console.log("server-sent events: graphql-sse with 20 streams at once, and an EventSource");
});
