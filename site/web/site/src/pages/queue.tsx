import { type CombinedError, useClient, useSubscription } from "@urql/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  Decisions,
  DeletedItems,
  Flagged,
  FlaggedChanged,
  type FlaggedQuery,
  Queue,
} from "../data/moderation-gql";
import { usePage } from "../data/page";
import { useNow } from "../ui/hooks";
import { paths } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { fill, formatNumber, texts } from "../ui/strings";
import { ago } from "../ui/time";
import {
  currentCase,
  focusReason,
  goOn,
  Reason,
  saidWhy,
  Title,
  useDecisions,
  useKeys,
  type Why,
} from "./deciding";
import { Failed } from "./failed";

type Item = NonNullable<FlaggedQuery["flagged"]>["nodes"][number];

interface Card {
  item: Item;
  /** What became of it. `busy`: the decision is under way. `other`: another moderator decided. */
  state: "open" | "busy" | "kept" | "removed" | "restored" | "other";
  /** The other moderator, once known. */
  by?: string;
  /** When this moderator removed it, Unix milliseconds. */
  removedAt?: number;
  /** Why it was removed. */
  why?: Why;
  /** Whether it is here only because a moderator, or the operator, removed it without a reason. */
  unexplained?: boolean;
}

const interval = 5000; // milliseconds, without a subscription
const longInterval = 30_000; // milliseconds, with one: removals without a reason are no reports
const undoTime = 10_000; // milliseconds
const partSize = 20; // of the query
const maxParts = 5; // of one reading

/**
 * The articles with open reports, and those that were removed without a reason. While the page is shown it follows the queue, and
 * nothing moves: what is new comes to the end, and what was decided keeps its place.
 */
export function Reports() {
  const client = useClient();
  const { say, connections, tools } = usePage();
  const { settle, explain, putBack } = useDecisions();
  const [cards, setCards] = useState<Card[]>();
  const [error, setError] = useState<CombinedError>();
  const [isMore, setMore] = useState(false);
  const [current, setCurrent] = useState("");
  const [filter, setFilter] = useState("");
  // What the functions see that run for longer than until the next rendering.
  const shown = useRef<Card[]>([]);
  const wanted = useRef(partSize);
  const changes = useRef(0);
  const reading = useRef(false);
  const again = useRef(false);
  const now = useNow((cards ?? []).map(({ removedAt = 0 }) => removedAt + undoTime));

  const show = (next: Card[]) => {
    shown.current = next;
    setCards(next);
  };
  const change = (target: string, part: Partial<Card>) => {
    changes.current++;
    show(shown.current.map((card) => (card.item.target === target ? { ...card, ...part } : card)));
  };
  const isOpen = (card: Card) => card.state === "open";

  /** Reads the queue, and shows what has changed. What is decided meanwhile has it read again. */
  const follow = async () => {
    const before = changes.current;
    const open = new Map(shown.current.filter(isOpen).map(({ item }) => [item.target, item]));
    const queue = new Map<string, string | null>();
    let after: string | null | undefined;
    for (let part = 0; part < maxParts && after !== null; part++) {
      const { data, error } = await client
        .query(Queue, { after }, { requestPolicy: "network-only" })
        .toPromise();
      if (!data?.flagged) return setError(error);
      for (const { target, latestReport } of data.flagged.nodes) queue.set(target, latestReport);
      const { hasNextPage, endCursor } = data.flagged.pageInfo;
      after = hasNextPage ? endCursor : null;
      if ([...open.keys()].every((target) => queue.has(target))) break;
    }
    const first = [...queue.keys()].slice(0, wanted.current);
    const known = new Map(
      shown.current.filter(({ state }) => state !== "other").map(({ item }) => [item.target, item]),
    );
    let items = new Map<string, Item>();
    if (first.some((target) => known.get(target)?.latestReport !== queue.get(target))) {
      const read = await readItems();
      if (!read) return;
      items = read;
    }
    const silent = await readUnexplained();
    if (!silent) return;
    const missing = after === null ? [...open.keys()].filter((target) => !queue.has(target)) : [];
    const by = new Map<string, string>();
    if (missing.length > 0) {
      const { data } = await client.query(Decisions, {}, { requestPolicy: "network-only" }).toPromise();
      // The newest entry of an article counts.
      for (const entry of data?.moderationLog?.nodes.toReversed() ?? []) by.set(entry.articleId, entry.by);
    }
    setError(undefined);
    setMore(queue.size > wanted.current || typeof after === "string");
    if (before !== changes.current) {
      again.current = true;
      return;
    }
    const next = shown.current.map((card): Card => {
      const { target } = card.item;
      if (missing.includes(target)) return { ...card, state: "other", by: by.get(target) };
      if (card.unexplained && card.state === "removed" && !card.why && !silent.has(target))
        return { ...card, state: "other" };
      const item = items.get(target);
      return item && item.latestReport !== card.item.latestReport ? { item, state: "open" } : card;
    });
    const there = new Set(next.map(({ item }) => item.target));
    for (const item of items.values()) {
      if (there.has(item.target)) continue;
      there.add(item.target);
      next.push({ item, state: "open" });
    }
    for (const [target, card] of silent) if (!there.has(target) && !queue.has(target)) next.push(card);
    show(next);
  };

  /** Reads what was removed without a reason: the latest ones, as many as are wanted. */
  const readUnexplained = async () => {
    const found = new Map<string, Card>();
    for (let after: string | null | undefined; ; ) {
      const { data, error } = await client
        .query(DeletedItems, { missingReason: true, after }, { requestPolicy: "network-only" })
        .toPromise();
      if (!data?.deletedItems) return void setError(error);
      for (const { article, by } of data.deletedItems.edges) {
        if (!article) continue;
        const item = {
          target: article.id,
          article,
          reports: [],
          openCount: 0,
          since: article.deletedAt,
          latestReport: null,
        };
        found.set(article.id, { item, state: "removed", unexplained: true, by });
      }
      const { hasNextPage, endCursor } = data.deletedItems.pageInfo;
      if (!hasNextPage || found.size >= wanted.current) return found;
      after = endCursor;
    }
  };

  /** Reads the first articles of the queue, as many as are wanted. */
  const readItems = async () => {
    const items = new Map<string, Item>();
    for (let after: string | null | undefined; items.size < wanted.current; ) {
      const { data, error } = await client
        .query(Flagged, { after }, { requestPolicy: "network-only" })
        .toPromise();
      if (!data?.flagged) return void setError(error);
      for (const item of data.flagged.nodes) items.set(item.target, item);
      const { hasNextPage, endCursor } = data.flagged.pageInfo;
      if (!hasNextPage || !endCursor) break;
      after = endCursor;
    }
    return items;
  };

  const read = async () => {
    again.current = reading.current;
    if (reading.current) return;
    reading.current = true;
    do {
      again.current = false;
      await follow();
    } while (again.current);
    reading.current = false;
  };
  const [live] = useSubscription({ query: FlaggedChanged }, (_before, data) => {
    void read();
    return data;
  });
  const isLive = !live.error;
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && void read();
    look();
    const timer = setInterval(look, isLive ? longInterval : interval);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [client, connections, isLive]);

  const find = (target: string) => shown.current.find(({ item }) => item.target === target);
  const decide = async (target: string, act: "DELETE" | "DISMISS") => {
    const card = find(target);
    const through = card?.item.latestReport;
    if (!card || !isOpen(card) || !through) return;
    change(target, { state: "busy" });
    goOn(target);
    const outcome = await settle(target, through, act);
    if (outcome === "failed") change(target, { state: "open" });
    else if (outcome === "conflict") change(target, { state: "other" });
    else if (act === "DISMISS") change(target, { state: "kept" });
    else change(target, { state: "removed", removedAt: Date.now() });
  };
  const give = async (target: string, why: Why) => {
    if ((await explain(target, why)) !== "done") return;
    const had = currentCase() === target;
    change(target, { why });
    if (had) goOn(target);
  };
  const restore = async (target: string) => {
    if (find(target)?.state !== "removed") return;
    if ((await putBack(target)) !== "done") return;
    change(target, { state: "restored" });
    say(texts.hasRestored);
  };
  const latest = () =>
    shown.current
      .filter(({ state, removedAt }) => state === "removed" && removedAt)
      .sort((a, b) => (a.removedAt ?? 0) - (b.removedAt ?? 0))
      .at(-1);
  /** The removed card that a key is about: the current one, or else the latest. */
  const unexplained = () => {
    const card = find(currentCase());
    const chosen = card?.state === "removed" ? card : latest();
    return chosen?.why ? undefined : chosen?.item.target;
  };
  /** Opens a form about an article, beside the page. */
  const act = (target: string, form: "groups" | "author") => {
    const article = find(target)?.item.article;
    if (article) tools?.open(article, form);
  };
  useKeys({
    g: () => act(currentCase(), "groups"),
    n: () => act(currentCase(), "author"),
    d: () => void decide(currentCase(), "DELETE"),
    x: () => void decide(currentCase(), "DISMISS"),
    r: () => void restore(currentCase()),
    u() {
      const card = latest();
      if (card?.removedAt && Date.now() < card.removedAt + undoTime) void restore(card.item.target);
    },
    1: () => void (unexplained() && give(unexplained() ?? "", { ground: "RULES" })),
    2: () => void (unexplained() && give(unexplained() ?? "", { ground: "ILLEGAL" })),
    3: () => focusReason(unexplained() ?? ""),
  });

  if (!cards) return error ? <Failed error={error} retry={read} /> : <Skeleton />;
  if (cards.length === 0) return <Empty title={texts.nothingToDo} />;
  const wantedText = filter.trim().toLowerCase();
  const filtered = cards.filter(
    ({ item }) => !wantedText || JSON.stringify(item).toLowerCase().includes(wantedText),
  );
  return (
    <div class="list">
      <input
        type="search"
        class="filter"
        aria-label={texts.filter}
        placeholder={texts.filter}
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      <ol
        onFocusIn={() => setCurrent(currentCase())}
        onFocusOut={(event) => !event.relatedTarget && setCurrent("")}
      >
        {filtered.map((card) => {
          const { target } = card.item;
          const { article, openCount, since, reports } = card.item;
          const title = article?.title ?? target;
          return (
            <li
              key={target}
              class={isOpen(card) ? "case" : "case done"}
              data-case={target}
              data-open={isOpen(card) ? "" : undefined}
              aria-current={current === target ? "true" : undefined}
            >
              <Title id={target} title={title} link={article?.link} />
              <p>
                {card.unexplained
                  ? `${texts.needsReason} · ${fill(texts.removedBy, {
                      time: since ? ago(Date.parse(since), now) : "",
                      user: card.by ?? "",
                    })}`
                  : fill(texts.reportedBy, {
                      n: formatNumber(openCount),
                      reasons: reasonsOf(card.item),
                      time: since ? ago(Date.parse(since), now) : "",
                    })}
                {article?.deletedAt && isOpen(card) && ` · ${texts.alreadyDeleted}`}
              </p>
              {reports?.map(({ id, note, reference, contact, by }) => (
                <Words key={id} {...{ note, reference, contact }} by={by?.name} />
              ))}
              <div class="actions">
                {isOpen(card) && (
                  <>
                    <button type="button" onClick={() => decide(target, "DISMISS")}>
                      {texts.keep}
                    </button>
                    <button type="button" onClick={() => decide(target, "DELETE")}>
                      {texts.remove}
                    </button>
                    {article && (
                      <a href={paths.article(article.number)} target="_blank" rel="noopener">
                        {texts.edit}
                      </a>
                    )}
                    <button type="button" onClick={() => act(target, "groups")}>
                      {texts.toGroups}
                    </button>
                    <button type="button" onClick={() => act(target, "author")}>
                      {texts.toAuthor}
                    </button>
                  </>
                )}
                <span role="status">{outcomeOf(card)}</span>
                {card.state === "removed" && (
                  <>
                    {!card.why && <Reason id={target} title={title} explain={(why) => give(target, why)} />}
                    {now < (card.removedAt ?? 0) + undoTime && (
                      <button type="button" onClick={() => restore(target)}>
                        {texts.undo}
                      </button>
                    )}
                  </>
                )}
              </div>
            </li>
          );
        })}
      </ol>
      {isMore && (
        <button
          type="button"
          class="more"
          onClick={() => {
            wanted.current += partSize;
            void read();
          }}
        >
          {texts.moreReports}
        </button>
      )}
    </div>
  );
}

/** The reasons of an article's reports, with the number of each: "advertising (2), off topic (1)". */
function reasonsOf({ reports, openCount }: Item): string {
  const counts = new Map<string, number>();
  for (const { reason } of reports ?? []) {
    const name = texts.reportReasons[reason];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const parts = [...counts].map(([name, count]) => `${name} (${count})`);
  return `${parts.join(", ")}${openCount > (reports?.length ?? 0) ? ", …" : ""}`;
}

interface WordsProps {
  note: string | null;
  reference: string | null;
  contact: { name: string | null; email: string | null } | null;
  by?: string;
}

/** What a report says, as plain text, and of a notice who sent it. */
function Words({ note, reference, contact, by }: WordsProps) {
  if (!note && !reference) return null;
  const sender = [contact?.name, contact?.email].filter(Boolean).join(", ");
  return (
    <blockquote dir="auto">
      {reference && (
        <strong>
          {fill(texts.noticeWith, { reference })}
          {sender && `, ${sender}`}{" "}
        </strong>
      )}
      {note} {by && <bdi>({by})</bdi>}
    </blockquote>
  );
}

/** What became of a card. */
function outcomeOf({ state, by, why, unexplained }: Card): string {
  switch (state) {
    case "kept":
      return texts.hasKept;
    case "removed":
      if (why) return `${texts.hasRemoved} ${saidWhy(why.ground, why.reason, why.basis)}`;
      return unexplained ? "" : texts.hasRemoved;
    case "restored":
      return texts.hasRestored;
    case "other":
      return by && !unexplained ? fill(texts.otherDecided, { user: by }) : texts.anotherDecided;
  }
  return "";
}
