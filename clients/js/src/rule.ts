/** A vote: `NONE` withdraws it. */
export type Direction = "UP" | "DOWN" | "NONE";

/** The counts of an article, and the viewer's own vote among them. */
export interface Counts {
  votes: number;
  upvotes: number;
  downvotes: number;
  /** Null or missing if unknown, as in events for anonymous readers. */
  viewerVote?: Direction | null;
}

/** What the server says of an article. */
export interface Tally extends Counts {
  revision: number;
  score?: number;
}

/** What a page knows of the votes of an article, and what its visitor wants. */
export interface State<T extends Tally = Tally> {
  base: T;
  /** Grows when the site was restored from a backup: its revisions are then lower than before. */
  epoch: number;
  /** What the visitor wants, until the server has confirmed or refused it. */
  wish?: Direction;
  /** The vote that is on its way. One is at a time. */
  sent?: Direction;
  /** Counts that arrived meanwhile without saying whether they include that vote. */
  held?: T;
}

export type Happening<T extends Tally = Tally> =
  /** The server says how the article stands: in a result or an event. */
  | { type: "seen"; tally: T; epoch: number }
  /** The visitor presses a button. */
  | { type: "pressed"; direction: Direction }
  /** The server has answered the vote that was sent; with `refused`, it has not counted it. */
  | { type: "answered"; tally?: T; epoch: number; refused?: boolean };

/** Returns the counts with another vote of the viewer: what the server answers if no other vote arrives in between. */
export function move<C extends Counts>(before: C, direction: Direction): C {
  const change = (kind: Direction) => Number(direction === kind) - Number(before.viewerVote === kind);
  const [up, down] = [change("UP"), change("DOWN")];
  return {
    ...before,
    votes: before.votes + up - down,
    upvotes: before.upvotes + up,
    downvotes: before.downvotes + down,
    viewerVote: direction,
  };
}

/** Returns what to show: the newest counts, with the visitor's wish in place of their vote. */
export const shown = <T extends Tally>({ base, wish }: State<T>): T => (wish ? move(base, wish) : base);

/**
 * Returns the state after something has happened, and has no side effects. In any order of responses and events, the
 * state ends the same, and no number that is shown goes back and forth.
 *
 * If the new state has `sent` and the happening was a press without one, or an answer, then send that vote.
 */
export function next<T extends Tally>(state: State<T>, happening: Happening<T>): State<T> {
  if (happening.type === "pressed") {
    const wish = happening.direction;
    return { ...state, wish, sent: state.sent ?? wish };
  }
  if (happening.type === "seen") return see(state, happening.tally, happening.epoch);
  const { tally, epoch, refused } = happening;
  const { sent, held, ...rest } = state;
  let after: State<T> = rest;
  if (tally) after = see(after, refused ? tally : { ...tally, viewerVote: tally.viewerVote ?? sent }, epoch);
  else if (!refused && sent) after = { ...after, base: move(after.base, sent) };
  // An article's changes have an order: what is newer than the answer includes the vote.
  if (held && after.epoch === state.epoch) after = see(after, held, state.epoch);
  const wish = refused || state.wish === sent ? undefined : state.wish;
  return { ...after, wish, sent: wish };
}

/** Returns the state after the server has said how the article stands: `next` for what is seen. */
export function see<T extends Tally>(state: State<T>, tally: T, epoch: number): State<T> {
  const { base, sent, held } = state;
  const isRestored = epoch > state.epoch;
  if (epoch < state.epoch || (!isRestored && tally.revision < base.revision)) return state;
  if (!isRestored && sent && !tally.viewerVote)
    return held && held.revision > tally.revision ? state : { ...state, held: tally };
  const newer = { ...base, ...tally, viewerVote: tally.viewerVote ?? base.viewerVote };
  return { ...state, base: newer, epoch, ...(isRestored && { held: undefined }) };
}

/**
 * Has `see` take the articles in a result of the API, and puts what it returns into the result instead. An article needs
 * `id`, `revision`, `upvotes` and `downvotes`, by these names.
 */
export function reconcile(data: unknown, see: (id: string, tally: Tally) => Tally): void {
  if (!(data instanceof Object)) return;
  for (const part of Object.values(data)) reconcile(part, see);
  const { id, revision, score, upvotes, downvotes, viewerVote } = data as Tally & { id: string };
  if (upvotes === undefined || downvotes === undefined || revision === undefined) return;
  const now = see(id, { revision, score, upvotes, downvotes, viewerVote, votes: upvotes - downvotes });
  for (const [field, value] of Object.entries(now))
    if (field in data && value !== undefined) (data as Record<string, unknown>)[field] = value;
}
