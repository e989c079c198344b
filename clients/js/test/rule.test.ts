import { describe, expect, test } from "vitest";
import { type Direction, move, next, type State, shown, type Tally } from "../src/rule.ts";

/** What happens at the server, in its order: revision 1 is the article's state at first. */
class Site {
  readonly all: Tally[] = [{ revision: 1, votes: 5, upvotes: 7, downvotes: 2, viewerVote: "NONE" }];

  get now(): Tally {
    return this.all.at(-1) as Tally;
  }

  /** The viewer's vote. One that repeats the last one changes nothing. */
  vote(direction: Direction): Tally {
    if (this.now.viewerVote !== direction) this.add(move(this.now, direction));
    return this.now;
  }

  /** Another user's upvote. Others only vote up, so what is shown of their votes must never fall. */
  other(): void {
    this.add({ ...this.now, votes: this.now.votes + 1, upvotes: this.now.upvotes + 1 });
  }

  private add(tally: Tally): void {
    this.all.push({ ...tally, revision: this.now.revision + 1 });
  }
}

interface World {
  site: Site;
  state: State;
  /** What the visitor has yet to press. */
  presses: Direction[];
  /** How many votes of others have yet to come. */
  others: number;
  /** A vote on its way to the server, and the answer on its way back. */
  request?: Direction;
  answer?: Tally;
  /** How often a request or an answer may still be lost. */
  faults: number;
  /** Revisions whose event has not arrived. */
  events: number[];
  last: Direction;
}

const copy = (world: World): World => {
  const site = new Site();
  site.all.splice(0, 1, ...world.site.all);
  return { ...world, site, presses: [...world.presses], events: [...world.events] };
};

const othersOf = ({ upvotes, viewerVote }: Tally) => upvotes - Number(viewerVote === "UP");

/** Every world that can come next. Events have the viewer's vote if `withOwn`. */
function* following(world: World, withOwn: boolean): Generator<World> {
  const { presses, others, request, answer, events } = world;
  const [press] = presses;
  if (press) {
    const after = copy(world);
    after.presses.shift();
    after.state = next(world.state, { type: "pressed", direction: press });
    after.last = press;
    if (!world.state.sent) after.request = after.state.sent;
    yield after;
  }
  const published = (after: World) => {
    for (const { revision } of after.site.all.slice(world.site.all.length)) after.events.push(revision);
    return after;
  };
  if (others > 0) {
    const after = copy(world);
    after.others--;
    after.site.other();
    yield published(after);
  }
  if (request) {
    const after = copy(world);
    after.request = undefined;
    after.answer = after.site.vote(request);
    yield published(after);
  }
  if (world.faults > 0 && (request || answer)) {
    // The answer is lost, or the request was: the same vote is sent again.
    const after = copy(world);
    after.faults--;
    after.answer = undefined;
    after.request = world.state.sent;
    yield after;
  }
  if (answer) {
    const after = copy(world);
    after.answer = undefined;
    after.state = next(world.state, { type: "answered", tally: answer, epoch: 0 });
    after.request = after.state.sent;
    yield after;
  }
  for (const revision of new Set(events)) {
    const after = copy(world);
    after.events.splice(events.indexOf(revision), 1);
    const event = world.site.all[revision - 1] as Tally;
    const tally = withOwn ? event : { ...event, viewerVote: null };
    after.state = next(world.state, { type: "seen", tally, epoch: 0 });
    yield after;
  }
}

/** Follows all orders, and returns how many worlds there are. */
function explore(start: World, withOwn: boolean): number {
  const known = new Set<string>();
  const todo = [start];
  for (let world = todo.pop(); world; world = todo.pop()) {
    const { state } = world;
    let ended = true;
    for (const after of following(world, withOwn)) {
      ended = false;
      const [was, is] = [shown(state), shown(after.state)];
      expect(is.viewerVote, "the button stays as it was pressed").toBe(after.last);
      expect(othersOf(is), "no number goes back").toBeGreaterThanOrEqual(othersOf(was));
      expect(is.votes).toBe(is.upvotes - is.downvotes);
      expect(is.downvotes - Number(is.viewerVote === "DOWN"), "others' downvotes stay").toBe(2);
      const key = JSON.stringify(after);
      if (!known.has(key)) todo.push(after);
      known.add(key);
    }
    if (ended) {
      expect(shown(state), "the page ends as the server").toEqual(world.site.now);
      expect([state.wish, state.sent, state.held]).toEqual([undefined, undefined, undefined]);
    }
  }
  return known.size;
}

const begin = (presses: Direction[], others: number, faults: number): World => {
  const site = new Site();
  return {
    site,
    state: { base: site.now, epoch: 0 },
    presses,
    others,
    faults,
    events: [],
    last: "NONE",
  };
};

const all: Direction[] = ["UP", "DOWN", "NONE"];

test.each([...all, null].flatMap((from) => all.map((to) => [from, to] as const)))(
  "a vote moves from %s to %s",
  (from, to) => {
    const recount = (own: Direction | null) => {
      const cast = ["UP", "UP", "UP", "DOWN", "DOWN", own];
      const [upvotes, downvotes] = ["UP", "DOWN"].map((kind) => cast.filter((vote) => vote === kind).length);
      return {
        votes: Number(upvotes) - Number(downvotes),
        upvotes: Number(upvotes),
        downvotes: Number(downvotes),
        viewerVote: own,
      };
    };
    expect(move(recount(from), to)).toEqual(recount(to));
  },
);

describe("all orders of arrival", () => {
  const pairs = all.flatMap((first) => all.map((second) => [first, second]));
  for (const withOwn of [true, false]) {
    const events = withOwn ? "events with the viewer's vote" : "events without it";
    test.each(pairs)(`%s, then %s, votes of others and a fault, ${events}`, (...presses) => {
      expect(explore(begin(presses, 2, 1), withOwn)).toBeGreaterThan(100);
    });
    test(`three presses, ${events}`, () => {
      expect(explore(begin(["UP", "NONE", "DOWN"], 2, 0), withOwn)).toBeGreaterThan(1000);
    });
  }
});

test("all permutations of results and events end alike", () => {
  const site = new Site();
  for (const step of ["other", "UP", "other", "NONE", "DOWN"] as const)
    if (step === "other") site.other();
    else site.vote(step);
  const permutations = (all: Tally[]): Tally[][] =>
    all.length < 2
      ? [all]
      : all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));
  const orders = permutations(site.all);
  expect(orders).toHaveLength(720);
  for (const order of orders) {
    let state: State = { base: order[0] as Tally, epoch: 0 };
    for (const tally of order) state = next(state, { type: "seen", tally, epoch: 0 });
    expect(shown(state)).toEqual(site.now);
  }
});

test("a refusal takes the wish back", () => {
  const base = new Site().now;
  let state = next({ base, epoch: 0 } as State, { type: "pressed", direction: "UP" });
  expect(shown(state).votes).toBe(6);
  state = next(state, { type: "answered", refused: true, epoch: 0 });
  expect(state.base).toEqual(base);
  expect([state.wish, state.sent]).toEqual([undefined, undefined]);
});

test("an answer without an article counts the vote", () => {
  const base = new Site().now;
  const pressed = next({ base, epoch: 0 } as State, { type: "pressed", direction: "DOWN" });
  const state = next(pressed, { type: "answered", epoch: 0 });
  expect(shown(state)).toEqual(shown(pressed));
  expect(state.wish).toBeUndefined();
});

test("a restored site has lower revisions, in whatever order old and new ones arrive", () => {
  const old = [3, 9].map((revision) => ({ epoch: 0, tally: { ...new Site().now, revision } }));
  const restored = [2, 4].map((revision) => ({ epoch: 1, tally: { ...new Site().now, revision, votes: 0 } }));
  const each = [...old, ...restored];
  for (const first of each)
    for (const second of each)
      for (const third of each)
        for (const fourth of each) {
          if (new Set([first, second, third, fourth]).size < 4) continue;
          let state: State = { base: first.tally, epoch: first.epoch };
          for (const later of [second, third, fourth]) state = next(state, { type: "seen", ...later });
          expect(shown(state)).toMatchObject({ revision: 4, votes: 0 });
        }
});
