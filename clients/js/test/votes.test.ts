import { describe, expect, test } from "vitest";
import { ballotOf, votingFetch } from "../src/fetch.ts";
import type { Direction, Tally } from "../src/rule.ts";
import { type Outcome, Votes } from "../src/votes.ts";

const id = "article:7";
const tally: Tally = { revision: 3, votes: 1, upvotes: 2, downvotes: 1, viewerVote: "NONE" };

/** A server whose answers the test gives. */
class Site {
  readonly sent: { direction: Direction; answer(outcome: Outcome<string>): void; fail(): void }[] = [];

  readonly send = (direction: Direction) =>
    new Promise<Outcome<string>>((resolve, reject) => {
      this.sent.push({ direction, answer: resolve, fail: () => reject(new TypeError("Failed to fetch")) });
    });
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

test("one vote at a time is on its way, and only the last of the others follows", async () => {
  const [site, votes] = [new Site(), new Votes()];
  votes.see(id, tally);
  const all = (["UP", "DOWN", "NONE", "DOWN"] as const).map((direction) =>
    votes.vote(id, direction, site.send),
  );
  expect(votes.shown(id)).toMatchObject({ votes: 0, viewerVote: "DOWN" });
  expect(site.sent.map(({ direction }) => direction)).toEqual(["UP"]);
  site.sent[0]?.answer({
    result: "first",
    tally: { ...tally, revision: 4, votes: 2, upvotes: 3, viewerVote: "UP" },
  });
  await turn();
  expect(votes.shown(id)).toMatchObject({ votes: 0, viewerVote: "DOWN" });
  expect(site.sent.map(({ direction }) => direction)).toEqual(["UP", "DOWN"]);
  site.sent[1]?.answer({
    result: "last",
    tally: { ...tally, revision: 5, votes: 0, downvotes: 2, viewerVote: "DOWN" },
  });
  expect(await Promise.all(all)).toEqual(["last", "last", "last", "last"]);
  expect(votes.shown("7")).toMatchObject({ revision: 5, votes: 0, viewerVote: "DOWN" });
});

test("a vote whose request fails is sent again, after a while", async () => {
  const site = new Site();
  const waits: number[] = [];
  const votes = new Votes({ wait: async (failures) => void waits.push(failures) });
  votes.see(id, tally);
  const vote = votes.vote(id, "UP", site.send);
  for (const i of [0, 1, 2]) {
    site.sent[i]?.fail();
    await turn();
    expect(votes.shown(id)?.viewerVote).toBe("UP");
  }
  site.sent[3]?.answer({ result: "counted" });
  expect(await vote).toBe("counted");
  expect(waits).toEqual([1, 2, 3]);
  expect(site.sent.map(({ direction }) => direction)).toEqual(["UP", "UP", "UP", "UP"]);
});

test("listeners get each change once, and none after they have ended it", async () => {
  const [site, votes] = [new Site(), new Votes()];
  const seen: [string, number][] = [];
  const end = votes.subscribe((article, now) => seen.push([article, now.votes]));
  votes.see(id, tally);
  const vote = votes.vote(id, "UP", site.send);
  site.sent[0]?.answer({
    result: "",
    tally: { ...tally, revision: 4, votes: 2, upvotes: 3, viewerVote: "UP" },
  });
  await vote;
  votes.see(id, { ...tally, revision: 2, votes: 9 });
  votes.see(id, { ...tally, revision: 5, votes: 3, upvotes: 4, viewerVote: "UP" });
  end();
  votes.see(id, { ...tally, revision: 6 });
  expect(seen).toEqual([
    [id, 2],
    [id, 2], // the same counts by a newer revision
    [id, 3],
  ]);
});

test("a refusal is handed on, and the count is as before", async () => {
  const [site, votes] = [new Site(), new Votes()];
  votes.see(id, tally);
  const vote = votes.vote(id, "UP", site.send);
  site.sent[0]?.answer({ result: "closed", refused: true });
  expect(await vote).toBe("closed");
  expect(votes.shown(id)).toEqual(tally);
});

test("an article that is not known, and one that was forgotten meanwhile", async () => {
  const [site, votes] = [new Site(), new Votes()];
  const unknown = votes.vote(id, "UP", site.send);
  site.sent[0]?.answer({ result: "unseen" });
  expect(await unknown).toBe("unseen");
  votes.see(id, tally);
  const vote = votes.vote(id, "UP", site.send);
  votes.forget();
  expect(votes.shown(id)).toBeUndefined();
  site.sent[1]?.answer({ result: "sent" });
  expect(await vote).toBe("sent");
  expect(votes.shown(id)).toBeUndefined();
});

test("results are merged at any depth, whatever they select", () => {
  const votes = new Votes();
  votes.see(id, { ...tally, revision: 9, votes: 5, upvotes: 6 });
  const { votes: _, ...rest } = tally;
  const result = {
    list: [{ node: { id, title: "x", ...rest, poster: { id: "user:a" } } }, null],
    other: { id: "article:8", votes: 1 },
  };
  expect(votes.merge(result)).toEqual({
    list: [
      {
        node: {
          id,
          title: "x",
          revision: 9,
          upvotes: 6,
          downvotes: 1,
          viewerVote: "NONE",
          poster: { id: "user:a" },
        },
      },
      null,
    ],
    other: { id: "article:8", votes: 1 },
  });
  expect(votes.shown("article:8")).toBeUndefined();
});

describe("what is a vote", () => {
  const cast = { article: id, direction: "DOWN" };
  test.each([
    ["mutation ($input: VoteInput!) { vote(input: $input) { article { id } } }", { input: cast }, cast],
    [
      "mutation V($a: ID!) { vote(input: {article: $a}) { changed } }",
      { a: 7 },
      { ...cast, direction: "UP" },
    ],
    ['mutation { v: vote(input: {article: "7", direction: DOWN}) { changed } }', {}, cast],
    [
      "fragment F on Article { id }\nmutation V { __typename vote(input: {direction: DOWN, article: 7}) { article { ...F } } }",
      {},
      cast,
    ],
    [undefined, { input: cast }, cast],
    ["mutation { vote(input: {article: 7}) { changed } post(input: {}) { article { id } } }", {}, undefined],
    ["mutation { post(input: $input) { article { id } } }", { input: cast }, undefined],
    ["{ vote(input: {article: 7}) }", {}, undefined],
    ['query { articles { title(as: "mutation {vote(input: {article: 7})}") } }', {}, undefined],
    [undefined, { input: { title: "x" } }, undefined],
    [undefined, {}, undefined],
  ])("%s %j", (query, variables, ballot) => {
    expect(ballotOf({ query, variables })).toEqual(ballot);
  });
});

test("a client's fetch: votes are sent again, other requests are not, and answers are merged", async () => {
  const votes = new Votes({ wait: async () => {} });
  const article = { id, ...tally };
  const answers = [
    [200, { data: { article } }],
    [503, { errors: [{ message: "away" }] }],
    [200, { data: { vote: { article: { ...article, revision: 4, upvotes: 3, viewerVote: "UP" } } } }],
    [503, { errors: [{ message: "away" }] }],
    [200, { data: { article } }],
  ] as [number, object][];
  const sent: RequestInit[] = [];
  const by = votingFetch(votes, async (_url, init) => {
    sent.push(init ?? {});
    const [status, body] = answers.shift() ?? [500, {}];
    return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
  });
  const ask = async (query: string, variables = {}) => {
    const response = await by("/query", {
      method: "POST",
      body: JSON.stringify({ query, variables }),
      signal: new AbortController().signal,
    });
    return [response.status, await response.json()];
  };
  await ask("{ article }");
  const [, voted] = await ask("mutation { vote(input: {article: 7}) { article { id } } }");
  expect(voted.data.vote.article).toMatchObject({ revision: 4, votes: 2, viewerVote: "UP" });
  expect(sent.map(({ signal }) => Boolean(signal))).toEqual([true, false, false]);
  expect((await ask("{ article }"))[0]).toBe(503);
  const [, stale] = await ask("{ article }");
  expect(stale.data.article).toMatchObject({ revision: 4, votes: 2, viewerVote: "UP" });
});

test("other answers stay as they are", async () => {
  const by = votingFetch(
    new Votes(),
    async () => new Response("event: next\n\n", { headers: { "Content-Type": "text/event-stream" } }),
  );
  expect(await (await by("/query", { body: "x" })).text()).toBe("event: next\n\n");
});
