// Shared by the tests of live updates: changes that cause events, and the events received.
import assert from "node:assert/strict";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { print } from "graphql";
import { type CardFragment, PostDocument, VoteDocument, type VoteInput } from "./generated/sdl/graphql";
import { url } from "./endpoint";

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The request for a typed document, as graphql-ws and graphql-sse take it. */
export const request = <Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables) => ({
  query: print(document),
  variables: variables as Record<string, unknown>,
});

/** Executes an operation by a plain POST, without the client under test. */
export async function execute<Data, Variables>(user: string, document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": user },
    body: JSON.stringify(request(document, variables)),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

/** Votes, and returns the article after the vote. */
export async function vote(user: string, article: string, direction: VoteInput["direction"] = "UP"): Promise<CardFragment> {
  const { vote } = await execute(user, VoteDocument, { input: { article, direction } });
  assert(vote?.article && vote.changed, JSON.stringify(vote));
  return vote.article;
}

/** Posts an article to groups, and returns it. */
export async function post(user: string, title: string, groups: string[]): Promise<CardFragment> {
  const { post } = await execute(user, PostDocument, { input: { title, text: title, groups } });
  assert(post?.article, JSON.stringify(post));
  return post.article;
}

interface Result<Data> {
  data?: Data | null;
  errors?: readonly { message: string }[];
}

/** Collects the results of one operation, and waits for them. */
export class Results<Data> {
  readonly all: Result<Data>[] = [];
  failure: unknown;
  completed = false;
  private waiting: (() => void)[] = [];

  next(result: Result<Data>): void {
    this.all.push(result);
    this.wake();
  }
  error(failure: unknown): void {
    this.failure = failure;
    this.wake();
  }
  complete(): void {
    this.completed = true;
    this.wake();
  }

  /** The data of all results. Fails if one has errors. */
  get events(): Data[] {
    assert.equal(this.failure, undefined);
    return this.all.map(({ data, errors }) => {
      assert.equal(errors, undefined);
      assert(data);
      return data;
    });
  }

  /** Waits until the condition holds, and reports whether it did in time. */
  async within(ms: number, condition: () => boolean): Promise<boolean> {
    for (const end = Date.now() + ms; !condition(); ) {
      if (Date.now() >= end) return false;
      await Promise.race([new Promise<void>((resolve) => this.waiting.push(resolve)), pause(end - Date.now())]);
    }
    return true;
  }

  /** Waits until the condition holds, and fails after 5 seconds. */
  async until(what: string, condition: () => boolean): Promise<void> {
    assert(await this.within(5000, condition), `${what}: ${JSON.stringify(this)}`);
  }

  /** Waits for the operation to complete, and returns its results. Fails if it ends with an error. */
  async finished(): Promise<Result<Data>[]> {
    await this.until("the operation does not end", () => this.completed || this.failure !== undefined);
    assert.equal(this.failure, undefined);
    return this.all;
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/**
 * Waits until a subscription has started. No protocol reports that, so it repeats a change until an event
 * arrives.
 */
export async function started<Data>(results: Results<Data>, change: (round: number) => Promise<unknown>): Promise<void> {
  await pause(150); // usually enough, and shorter than waiting for an event that never comes
  for (let round = 0; round < 10; round++) {
    const before = results.all.length;
    await change(round);
    if (await results.within(1000, () => results.all.length > before)) return;
  }
  assert.fail(`no event arrived: ${JSON.stringify(results)}`);
}

/**
 * The same for a subscription to an article, with votes. After an even number of rounds, the votes are as
 * before.
 */
export const startedFor = <Data>(results: Results<Data>, user: string, article: string) =>
  started(results, (round) => vote(user, article, round % 2 === 0 ? "UP" : "NONE"));
