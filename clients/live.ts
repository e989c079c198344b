// What the clients of live updates have in common: changes to be told of, and what was told.
import assert from "node:assert/strict";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { print } from "graphql";
import { type CardFragment, PostDocument, VoteDocument, type VoteInput } from "./generated/sdl/graphql";
import { url } from "./site";

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** What the clients of this folder send for a typed document. */
export const request = <Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables) => ({
  query: print(document),
  variables: variables as Record<string, unknown>,
});

/** Asks by a plain POST, so that no client under test has a part in it. */
export async function ask<Data, Variables>(user: string, document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": user },
    body: JSON.stringify(request(document, variables)),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

/** Votes, and answers the article as it stands after that. */
export async function vote(user: string, article: string, direction: VoteInput["direction"] = "UP"): Promise<CardFragment> {
  const { vote } = await ask(user, VoteDocument, { input: { article, direction } });
  assert(vote?.article && vote.changed, JSON.stringify(vote));
  return vote.article;
}

/** Posts an article into groups. */
export async function post(user: string, title: string, groups: string[]): Promise<CardFragment> {
  const { post } = await ask(user, PostDocument, { input: { title, text: title, groups } });
  assert(post?.article, JSON.stringify(post));
  return post.article;
}

interface Answer<Data> {
  data?: Data | null;
  errors?: readonly { message: string }[];
}

/** Collects the answers to one operation, and waits for them. */
export class Answers<Data> {
  readonly all: Answer<Data>[] = [];
  failure: unknown;
  completed = false;
  private waiting: (() => void)[] = [];

  next(answer: Answer<Data>): void {
    this.all.push(answer);
    this.told();
  }
  error(failure: unknown): void {
    this.failure = failure;
    this.told();
  }
  complete(): void {
    this.completed = true;
    this.told();
  }

  /** The data of the answers, none of which has errors. */
  get events(): Data[] {
    assert.equal(this.failure, undefined);
    return this.all.map(({ data, errors }) => {
      assert.equal(errors, undefined);
      assert(data);
      return data;
    });
  }

  /** Waits for something to be so, and reports whether it has become so in time. */
  async within(ms: number, isSo: () => boolean): Promise<boolean> {
    for (const end = Date.now() + ms; !isSo(); ) {
      if (Date.now() >= end) return false;
      await Promise.race([new Promise<void>((resolve) => this.waiting.push(resolve)), pause(end - Date.now())]);
    }
    return true;
  }

  /** Waits for something to be so, and fails when it does not become so. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    assert(await this.within(5000, isSo), `${what}: ${JSON.stringify(this)}`);
  }

  /** Waits for the end without a failure, and answers what came. */
  async finished(): Promise<Answer<Data>[]> {
    await this.until("it does not end", () => this.completed || this.failure !== undefined);
    assert.equal(this.failure, undefined);
    return this.all;
  }

  private told(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/**
 * Waits until a subscription has begun, of which no protocol tells: changes
 * something until it is told of it.
 */
export async function begun<Data>(answers: Answers<Data>, change: (round: number) => Promise<unknown>): Promise<void> {
  await pause(150); // mostly enough, and shorter than to wait in vain for the first change
  for (let round = 0; round < 10; round++) {
    const before = answers.all.length;
    await change(round);
    if (await answers.within(1000, () => answers.all.length > before)) return;
  }
  assert.fail(`nothing is told: ${JSON.stringify(answers)}`);
}

/** The same for articles that are watched: their votes are as before after an even number of rounds. */
export const begunFor = <Data>(answers: Answers<Data>, user: string, article: string) =>
  begun(answers, (round) => vote(user, article, round % 2 === 0 ? "UP" : "NONE"));
