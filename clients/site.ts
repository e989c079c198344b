// The site that the clients visit, and what each must find there.
import assert from "node:assert/strict";
import { pause, vote } from "./live";

export const url = process.env["FRONTPAGE_URL"] ?? "";
assert(url, "FRONTPAGE_URL is not set: start the clients with ./run.sh");

// Not the default of the server, and no divisor of the number of articles.
export const pageSize = 30;

// run.sh imports these before the first client comes.
const seeded = Array.from({ length: 500 }, (_, i) => `article:${1001 + i}`);

export interface Voted {
  votes: number;
  viewerVote?: string | null;
}

/** What a client does, each in its own way. The ids of a walk are by time, the oldest first. */
export interface Visitor {
  frontPage(user: string): Promise<{ viewer: string | undefined; articles: number }>;
  post(user: string, title: string): Promise<string | undefined>;
  vote(user: string, article: string): Promise<Voted | null | undefined>;
  /** Tells of each change of an article, until it is stopped. */
  watch(article: string, changed: (article: Voted) => void): () => void;
  byCursor(): Promise<string[]>;
  byPage(): Promise<string[]>;
}

export async function visit(name: string, visitor: Visitor): Promise<void> {
  const [poster, voter] = [`${name}-poster`, `${name}-voter`];
  assert.deepEqual(await visitor.frontPage(poster), { viewer: poster, articles: 25 });
  const posted = await visitor.post(poster, `posted by ${name}`);
  assert(posted, "the post answers with its article");
  const voted = await visitor.vote(voter, posted);
  assert.deepEqual([voted?.votes, voted?.viewerVote], [2, "UP"]);
  await watched(name, visitor, posted);

  const byCursor = await visitor.byCursor();
  assert.deepEqual(byCursor.slice(0, seeded.length), seeded, "the walk by cursor has every seeded article, in order");
  assert.equal(byCursor.at(-1), posted, "the walk by cursor ends with the newest article");
  assert.equal(new Set(byCursor).size, byCursor.length, "the walk by cursor has no article twice");
  assert.deepEqual(await visitor.byPage(), byCursor, "the walk by page number finds the same");
  console.log(`${name}: a query, two mutations, a subscription, ${byCursor.length} articles by cursor and by page number`);
}

async function watched(name: string, visitor: Visitor, article: string): Promise<void> {
  const votes: number[] = [];
  const stop = visitor.watch(article, (changed) => votes.push(changed.votes));
  const told = async (expected: number) => {
    for (let waited = 0; waited < 1000 && votes.at(-1) !== expected; waited += 20) await pause(20);
    return votes.at(-1) === expected;
  };
  // No protocol tells that a subscription has begun.
  await pause(150);
  for (let round = 0; !(await told((await vote(`${name}-waker-${round}`, article)).votes)); round++) {
    assert(round < 5, "the subscription tells nothing");
  }
  for (const voter of [`${name}-1`, `${name}-2`]) {
    const expected = (await vote(voter, article)).votes;
    assert(await told(expected), `${expected} votes are not told: ${votes}`);
  }
  stop();
}

/** Walks by page number until a page is empty. */
export async function pages(read: (page: number) => Promise<string[]>): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page++) {
    const found = await read(page);
    if (found.length === 0) return ids;
    ids.push(...found);
  }
}

/** Ends the process with its client: connections that are kept for the next request would hold it for seconds. */
export function main(client: () => Promise<void>): void {
  client().then(
    () => process.exit(),
    (err: unknown) => {
      console.error(err);
      process.exit(1);
    },
  );
}
