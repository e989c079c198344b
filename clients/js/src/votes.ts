import { type Direction, type Happening, next, type State, shown, type Tally } from "./rule.ts";

/** What came of sending a vote. */
export interface Outcome<R> {
  /** Handed to those who wait for the vote. */
  result: R;
  /** The article after the vote. */
  tally?: Tally;
  /** Whether the server has not counted the vote, and will not if it is sent again. */
  refused?: boolean;
}

export type Listener = (id: string, tally: Tally) => void;

export interface Options {
  /** Waits before a vote is sent again after so many failed requests, at least 1. Default: 1, 2, 4 … 32 seconds. */
  wait?(failures: number): Promise<void>;
}

interface Article {
  state: State;
  /** Sends the latest vote. Votes before it that were never sent end as it does. */
  send?(direction: Direction): Promise<Outcome<unknown>>;
  /** What came of it, once the server has confirmed or refused it. */
  settled?: Promise<unknown>;
}

const pause = (failures: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, 1000 * 2 ** Math.min(failures - 1, 5)));

/** The global id of an article, which may be given as its number. */
export const articleId = (id: unknown) => String(id).replace(/^(?=\d)/, "article:");

/** The votes of all articles that a page knows. */
export class Votes {
  private readonly articles = new Map<string, Article>();
  private readonly listeners = new Set<Listener>();
  private readonly wait: (failures: number) => Promise<void>;
  private epoch = 0;

  constructor({ wait = pause }: Options = {}) {
    this.wait = wait;
  }

  /** Returns what to show of an article. Undefined if the server has not said anything of it. */
  shown(id: string): Tally | undefined {
    const article = this.articles.get(articleId(id));
    return article && shown(article.state);
  }

  /** Calls the listener when what is to be shown of an article has changed. Returns a function that ends that. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Takes what the server says of an article, in any order. Reports whether it was older than what is known. */
  see(id: string, tally: Tally): boolean {
    const { epoch } = this;
    const article = this.articles.get(id);
    if (article) this.happened(id, article, { type: "seen", tally, epoch });
    else this.articles.set(id, { state: { base: tally, epoch } });
    return article !== undefined && tally.revision < article.state.base.revision;
  }

  /** From now on, lower revisions replace higher ones: the site was restored from a backup. */
  restored(): void {
    this.epoch++;
  }

  /** Forgets all articles: another viewer has signed in. Votes on their way are still sent. */
  forget(): void {
    this.articles.clear();
  }

  /**
   * Votes. The vote is shown at once, and sent if no other one on the article is on its way; of those made meanwhile, only
   * the last one is sent, after it. A promise that `send` rejects means that the server has not been reached: the vote is sent
   * again until it is, which may count it twice without harm. Resolves once the server has confirmed or refused the last vote.
   */
  vote<R>(id: string, direction: Direction, send: (direction: Direction) => Promise<Outcome<R>>): Promise<R> {
    const key = articleId(id);
    const article = this.articles.get(key);
    if (!article) return send(direction).then(({ result }) => result);
    article.send = send;
    this.happened(key, article, { type: "pressed", direction });
    article.settled ??= this.settle(key, article).finally(() => {
      article.settled = undefined;
    });
    return article.settled as Promise<R>;
  }

  private async settle(id: string, article: Article): Promise<unknown> {
    for (let failures = 0; ; ) {
      const { epoch } = this;
      const outcome = await article.send?.(article.state.sent as Direction).catch(() => undefined);
      if (!outcome) {
        await this.wait(++failures);
        continue;
      }
      failures = 0;
      const { result, tally, refused } = outcome;
      this.happened(id, article, { type: "answered", tally, refused, epoch });
      if (!article.state.sent) return result;
    }
  }

  private happened(id: string, article: Article, happening: Happening): void {
    const before = shown(article.state);
    article.state = next(article.state, happening);
    const after = shown(article.state);
    const changed = (["votes", "upvotes", "downvotes", "viewerVote", "revision"] as const).some(
      (field) => before[field] !== after[field],
    );
    if (changed && this.articles.get(id) === article)
      for (const listener of this.listeners) listener(id, after);
  }

  /**
   * Takes the articles of a result of the API, and returns it with what is to be shown of them instead: no older counts
   * than the page has, and the viewer's own votes. An article needs `id`, `revision`, `upvotes` and `downvotes`.
   */
  merge<D>(data: D): D {
    if (Array.isArray(data)) return data.map((each) => this.merge(each)) as D;
    if (!data || typeof data !== "object") return data;
    const object = data as Record<string, unknown>;
    const copy = Object.fromEntries(Object.entries(object).map(([key, value]) => [key, this.merge(value)]));
    const tally = tallyOf(copy);
    if (!tally) return copy as D;
    const id = copy.id as string;
    this.see(id, tally);
    const now = this.shown(id) as unknown as Record<string, unknown>;
    for (const field of ["votes", "upvotes", "downvotes", "viewerVote", "revision"])
      if (field in copy) copy[field] = now[field];
    return copy as D;
  }
}

/** Returns the counts of an article in a result. Undefined if it lacks `id`, `revision`, `upvotes` or `downvotes`. */
export function tallyOf(article: object): Tally | undefined {
  const {
    id,
    revision,
    upvotes = Number.NaN,
    downvotes = Number.NaN,
    viewerVote,
  } = article as Partial<Tally> & { id?: unknown };
  const votes = upvotes - downvotes;
  if (!/^article:/.test(`${id}`) || revision === undefined || Number.isNaN(votes)) return;
  return { revision, upvotes, downvotes, votes, viewerVote };
}
