import { expect } from "vitest";

/** The GraphQL endpoint of the server that `clients/run.sh` starts, which has 500 articles. */
export const url = process.env.FRONTPAGE_URL ?? "";

/** Executes an operation without the client under test, and fails if it has errors. */
export async function execute<D>(user: string, query: string, variables: object = {}): Promise<D> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": user },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  return data;
}

const Vote =
  "mutation ($input: VoteInput!) { vote(input: $input) { userErrors { message } article { votes } } }";

/** Votes as another user, and returns the net votes after it. */
export async function vote(user: string, article: string, direction = "UP"): Promise<number> {
  const { vote } = await execute<{ vote: { userErrors: object[]; article: { votes: number } } }>(user, Vote, {
    input: { article, direction },
  });
  expect(vote.userErrors).toEqual([]);
  return vote.article.votes;
}

/** Returns how an article stands for a user. */
export async function standing(
  user: string,
  id: string,
): Promise<{ votes: number; viewerVote: string | null }> {
  const query = "query ($id: ID!) { article(id: $id) { votes viewerVote } }";
  return (await execute<{ article: { votes: number; viewerVote: string | null } }>(user, query, { id }))
    .article;
}

/** Returns the id of the article whose title is in a row of the front page or of the newest articles. */
export async function titled(row: string): Promise<string> {
  const query = `{
    front: articlesConnection(order: SCORE, first: 50) { nodes { id title } }
    latest: articlesConnection(order: TIME, first: 50) { nodes { id title } }
  }`;
  const lists = await execute<Record<string, { nodes: { id: string; title: string }[] }>>("", query);
  const articles = Object.values(lists).flatMap(({ nodes }) => nodes);
  return articles.find(({ title }) => row.trim().endsWith(` ${title}`))?.id ?? "";
}

/** Returns the ids of the newest articles. */
export async function newest(first: number): Promise<string[]> {
  const query = "query ($first: Int!) { articlesConnection(order: TIME, first: $first) { nodes { id } } }";
  const { articlesConnection } = await execute<{ articlesConnection: { nodes: { id: string }[] } }>(
    "",
    query,
    { first },
  );
  return articlesConnection.nodes.map(({ id }) => id);
}

/** A fetch whose event streams can be cut off, and whose mutations can be held back. */
export class Wire {
  private streams: AbortController[] = [];
  private held?: Promise<void>;
  /** Connections for event streams so far. */
  opened = 0;
  mutations = 0;

  readonly fetch: typeof fetch = async (input, init) => {
    const body = String(init?.body);
    if (/"mutation/.test(body)) {
      this.mutations++;
      await this.held;
    }
    if (!/^text\/event-stream/.test(new Headers(init?.headers).get("Accept") ?? ""))
      return fetch(input, init);
    this.opened++;
    const cut = new AbortController();
    this.streams.push(cut);
    const signal = init?.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
    return fetch(input, { ...init, signal });
  };

  /** Cuts off all streams. New ones can be opened. */
  cut(): void {
    for (const stream of this.streams.splice(0)) stream.abort();
  }

  /** Holds mutations back, until the function that it returns is called. */
  hold(): () => void {
    let release = () => {};
    this.held = new Promise((resolve) => {
      release = () => resolve();
    });
    return release;
  }
}
