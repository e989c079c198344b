// The scenario that each client library runs, and the results that it must get.
import assert from "node:assert/strict";
import { pause, vote } from "./live";

/** Differs from the server's default, and does not divide the number of articles. */
export const pageSize = 30;

// run.sh imports these articles before it starts the clients.
const imported = Array.from({ length: 500 }, (_, i) => `article:${1001 + i}`);

export interface Voted {
  votes: number;
  viewerVote?: string | null;
}

/** The steps of the scenario, as a client library implements them. Ids are ordered by time, oldest first. */
export interface Visitor {
  frontPage(user: string): Promise<{ viewer: string | undefined; articles: number | undefined }>;
  post(user: string, title: string): Promise<string | undefined>;
  vote(user: string, article: string): Promise<Voted | null | undefined>;
  /** Calls changed for each change of an article, until the returned function is called. */
  watch(article: string, changed: (article: Voted) => void): () => void;
  byCursor(): Promise<string[]>;
  byPage(): Promise<string[]>;
}

/** Runs the scenario with one client library, named in the test's users and output. */
export async function visit(name: string, visitor: Visitor): Promise<void> {
  const [poster, voter] = [`${name}-poster`, `${name}-voter`];
  assert.deepEqual(await visitor.frontPage(poster), { viewer: poster, articles: 25 });
  const posted = await visitor.post(poster, `posted by ${name}`);
  assert(posted, "the response to a post has its article");
  const voted = await visitor.vote(voter, posted);
  assert.deepEqual([voted?.votes, voted?.viewerVote], [2, "UP"]);
  await watchVotes(name, visitor, posted);

  const byCursor = await visitor.byCursor();
  assert.deepEqual(byCursor.slice(0, imported.length), imported, "paging by cursor returns every imported article, in order");
  assert.equal(byCursor.at(-1), posted, "paging by cursor ends with the newest article");
  assert.equal(new Set(byCursor).size, byCursor.length, "paging by cursor returns no article twice");
  assert.deepEqual(await visitor.byPage(), byCursor, "paging by page number returns the same articles");
  console.log(`${name}: a query, two mutations, a subscription, ${byCursor.length} articles by cursor and by page number`);
}

async function watchVotes(name: string, visitor: Visitor, article: string): Promise<void> {
  const votes: number[] = [];
  const stop = visitor.watch(article, (changed) => votes.push(changed.votes));
  const received = async (expected: number) => {
    for (let waited = 0; waited < 1000 && votes.at(-1) !== expected; waited += 20) await pause(20);
    return votes.at(-1) === expected;
  };
  // No protocol reports that a subscription has started, so vote until an event arrives.
  await pause(150);
  for (let round = 0; !(await received((await vote(`${name}-starter-${round}`, article)).votes)); round++) {
    assert(round < 5, "the subscription sent no event");
  }
  for (const voter of [`${name}-1`, `${name}-2`]) {
    const expected = (await vote(voter, article)).votes;
    assert(await received(expected), `no event with ${expected} votes: ${votes}`);
  }
  stop();
}

/** Reads pages by number until one is empty. */
export async function pages(read: (page: number) => Promise<string[]>): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page++) {
    const found = await read(page);
    if (found.length === 0) return ids;
    ids.push(...found);
  }
}
