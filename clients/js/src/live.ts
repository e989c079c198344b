import type { Votes } from "./votes.ts";

/** The part of a result that subscriptions deliver. */
export interface Result {
  data?: unknown;
  errors?: unknown;
}

export interface Sink<R extends Result = Result> {
  next(result: R): void;
  error?(error: unknown): void;
  complete?(): void;
}

export interface Subscription {
  query: string;
  variables?: Record<string, unknown>;
}

export interface Live {
  /** URL of the GraphQL endpoint. */
  url: string;
  /** Headers of each connection, such as `Authorization`. A function is called for each connection. */
  headers?: Record<string, string> | (() => Record<string, string>);
  fetch?: typeof fetch;
  /** Gets the counts of the articles in results, and replaces them by those to show. */
  votes?: Votes;
  /** Milliseconds without data from the server after which the connection is taken for lost. Default: 40,000. */
  silence?: number;
  /** Waits before connecting again after so many failures, at least 1. Default: 1, 2, 4 … 30 seconds, each ± 25 %. */
  wait?(failures: number): Promise<void>;
}

const globalId = (id: unknown) => `${id}`.replace(/^(?=\d)/, "article:");

/**
 * Changes the variables of `articleChanged(ids, revisions)` and `articlePosted(after)` to what a client has after a
 * result, so that the subscription goes on from there. Select `id` and `revision` of the first, `cursor` of the second.
 */
export function advance(variables: Record<string, unknown>, result: { data?: unknown }): void {
  const { articleChanged, articlePosted, event } = (result.data ?? {}) as {
    articleChanged?: { id: string; revision?: number };
    articlePosted?: { cursor?: string };
    event?: { cursor?: string };
  };
  const { ids } = variables as { ids?: unknown[] };
  if (articleChanged?.revision !== undefined && Array.isArray(ids)) {
    const { revisions = ids.map(() => -1) } = variables as { revisions?: number[] };
    const at = ids.findIndex((id) => globalId(id) === articleChanged.id);
    variables.revisions = revisions.map((before, i) => (i === at ? articleChanged.revision : before));
  }
  const cursor = (articlePosted ?? event)?.cursor;
  if (cursor) variables.after = cursor;
}

/** Returns the id of the article in a result that has a lower revision than the client. */
function older({ ids, revisions }: Record<string, unknown>, { data }: Result): string | undefined {
  const { articleChanged } = (data ?? {}) as { articleChanged?: { id: string; revision?: number } };
  if (articleChanged?.revision === undefined || !Array.isArray(ids) || !Array.isArray(revisions)) return;
  const known = revisions[ids.findIndex((id) => globalId(id) === articleChanged.id)];
  if (articleChanged.revision < known) return articleChanged.id;
}

const backoff = (failures: number) =>
  new Promise<void>((resolve) => {
    const wait = Math.min(1000 * 2 ** (failures - 1), 30_000);
    setTimeout(resolve, wait * (0.75 + Math.random() / 2));
  });

const temporary = (status: number) => status === 429 || status >= 500;

/**
 * Subscribes by server-sent events, and goes on where it was after each lost connection: the query must declare and use the
 * variables `$revisions` or `$after` for that. Returns a function that ends it.
 */
export function follow<R extends Result>(
  live: Live,
  { query, variables = {} }: Subscription,
  sink: Sink<R>,
): () => void {
  const { url, headers = {}, fetch: by = fetch, votes, silence = 40_000, wait = backoff } = live;
  const ended = new AbortController();
  const now = { ...variables };
  let failures = 0;
  let suspect: string | undefined;

  /** Reads one stream. Returns what ended it for good; nothing if another one is to go on. */
  const read = async (): Promise<(() => void) | undefined> => {
    const lost = new AbortController();
    const end = () => lost.abort();
    ended.signal.addEventListener("abort", end);
    let timer = setTimeout(end, silence);
    try {
      const response = await by(url, {
        method: "POST",
        headers: {
          ...(typeof headers === "function" ? headers() : headers),
          Accept: "text/event-stream",
          "Content-Type": "application/json",
        },
        body: JSON.stringify({ query, variables: now }),
        signal: lost.signal,
      });
      if (!response.ok || !response.body) {
        if (temporary(response.status)) return;
        const { errors } = await response
          .json()
          .catch(() => ({ errors: [{ message: response.statusText }] }));
        return () => sink.error?.(errors);
      }
      let rest = "";
      const decoder = new TextDecoder();
      for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(end, silence);
        const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          failures = 0;
          if (ended.signal.aborted) return;
          if (/^event: complete$/m.test(block)) return () => sink.complete?.();
          const [, text] = /^data: (.*)$/m.exec(block) ?? [];
          if (!text) continue;
          const result = JSON.parse(text) as R;
          const article = older(now, result);
          if (article && article !== suspect) {
            // Another process may not know yet what this page does. If the next one says the same, the site was restored.
            suspect = article;
            return;
          }
          if (article) votes?.restored();
          suspect = undefined;
          advance(now, result);
          sink.next(votes ? { ...result, data: votes.merge(result.data) } : result);
        }
      }
    } finally {
      clearTimeout(timer);
      ended.signal.removeEventListener("abort", end);
      lost.abort();
    }
  };

  void (async () => {
    while (!ended.signal.aborted) {
      const over = await read().catch(() => undefined);
      if (ended.signal.aborted) return;
      if (over) return over();
      await wait(++failures);
    }
  })();
  return () => ended.abort();
}

/** Subscriptions as urql, graphql-ws and others take them: `subscribe` returns an object whose `unsubscribe` ends one. */
export const following =
  (live: Live) =>
  <R extends Result>({ query = "", variables }: { query?: string; variables?: unknown }) => ({
    subscribe: (sink: Sink<R>) => ({
      unsubscribe: follow(live, { query, variables: variables as Record<string, unknown> }, sink),
    }),
  });
