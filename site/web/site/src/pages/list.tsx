import { type DocumentInput, useQuery } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PageFragment, RowFragment } from "../data/gql";
import { useFresh, useLive } from "../data/live";
import { newSince, sawNews } from "../data/news";
import { useNear, useNow } from "../ui/hooks";
import { isHere, navigate, paths, remember, useScroll, useVisit } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { counted, fill, texts } from "../ui/strings";
import { clock, closing } from "../ui/time";
import { Failed } from "./failed";
import { Row } from "./row";

/** The articles that a list shows. */
export interface Source {
  query: DocumentInput;
  variables: object;
  read(data: unknown): PageFragment | null | undefined;
  /** Whether the rows have ranks: by score, which each row explains, or by votes. */
  ranked?: "score" | "votes";
  /** What the row of an article says instead of offering to explain its score. */
  note?(article: RowFragment, now: number): string;
  /** Which new articles to count: all, or those of a group. If missing, none. */
  posted?: { group?: string };
  /** Whether new articles are marked though none is counted. */
  fresh?: boolean;
  /** The group that its rows do not repeat. */
  group?: string;
  /** Whether its first part may be in the cache since it was just read: the list then shows it from there. */
  isRead?: boolean;
}

/** Number of parts that are read by scrolling. A button reads the next ones, so that the end of the page can be reached. */
const partsAtOnce = 3;

/**
 * A list that grows by scrolling, some parts at once. Each part has its own URL, with its cursor. A new visit reads the
 * list from the server; the back button restores it from the cache. The list never reorders while
 * it is shown: votes only change the numbers, and new articles appear on request.
 */
export function ArticleList({ source, empty }: { source: Source; empty: ComponentChildren }) {
  const visit = useVisit();
  const restored = visit.arrival !== "new";
  const [saved] = useState(visit.saved);
  const [start] = useState(saved.start ?? new URLSearchParams(visit.search).get("after") ?? "");
  const wanted = saved.parts ?? 1;
  const [parts, setParts] = useState(wanted);
  const [total, setTotal] = useState<number>();
  const [shown, setShown] = useState(0);
  const list = useRef<HTMLDivElement>(null);

  useScroll(shown >= wanted);
  useEffect(() => {
    const follow = () => {
      if (!isHere(visit)) return;
      const at = [...(list.current?.querySelectorAll<HTMLElement>("[data-after]") ?? [])];
      if (at.length === 0) return;
      const current = at.findLast((part) => part.getBoundingClientRect().top < innerHeight / 3) ?? at[0];
      const after = current?.dataset.after;
      const search = address(visit.search, after);
      if (location.search !== search || history.state.parts !== parts)
        remember({ parts, start }, visit.path + search);
    };
    follow();
    addEventListener("scrollend", follow);
    return () => removeEventListener("scrollend", follow);
  }, [parts, shown]);

  const fresh = useFresh(source.posted, total, restored);
  const onShown = useCallback((index: number, size: number, last: boolean) => {
    setTotal((before) => before ?? size);
    setShown((before) => Math.max(before, last ? Number.POSITIVE_INFINITY : index + 1));
  }, []);

  const waiting = fresh > 0 ? `(${fresh}) ` : "";
  useEffect(() => {
    document.title = waiting + document.title.replace(/^\(\d+\) /, "");
  }, [waiting]);
  // Where they are not the first ones of the list itself, another one begins with them.
  const fromNew = source.ranked === "score" ? paths.list("TIME", source.posted?.group) : visit.path;

  return (
    <div ref={list} class="list">
      <p class="fresh" role="status">
        {fresh > 0 && (
          <button
            type="button"
            onClick={() => navigate(fromNew, fromNew === visit.path ? "replace" : "push")}
          >
            {counted(fresh, texts.freshArticles)}
          </button>
        )}
      </p>
      {start && (
        <p class="further">
          {texts.further} <a href={visit.path + address(visit.search)}>{texts.toTheTop}</a>
        </p>
      )}
      <Part
        source={source}
        after={start}
        index={0}
        parts={parts}
        before={start ? undefined : 0}
        restored={restored ? wanted : Number(visit.first || source.isRead)}
        empty={empty}
        onShown={onShown}
        more={() => setParts((count) => count + 1)}
      />
    </div>
  );
}

/** The query of the address of a part of the list, which keeps what was searched for. */
function address(search: string, after?: string): string {
  const q = new URLSearchParams(search).get("q");
  const query = new URLSearchParams({ ...(q && { q }), ...(after && { after }) });
  return query.size > 0 ? `?${query}` : "";
}

interface PartProps {
  source: Source;
  after: string;
  index: number;
  /** Number of parts to show. */
  parts: number;
  /** The number of articles before it, if known. */
  before?: number;
  above?: RowFragment;
  /** Number of parts to show from the cache, because the visitor returned to them. */
  restored: number;
  empty?: ComponentChildren;
  onShown(index: number, total: number, last: boolean): void;
  more(): void;
}

/** One part of a list, followed by the next parts. */
function Part({ source, after, index, parts, before, above, restored, empty, onShown, more }: PartProps) {
  const [{ data, error }, execute] = useQuery({
    query: source.query,
    variables: { ...source.variables, after: after || null },
    requestPolicy: index < restored ? "cache-first" : "network-only",
  });
  const retry = () => execute({ requestPolicy: "network-only" });
  const page = data && (source.read(data) ?? undefined);
  const articles = page?.nodes ?? [];
  const now = useNow(articles.map(closing));
  const [near, part] = useNear<HTMLOListElement>("100% 0px", true, [page === undefined]);
  useLive(articles, near);
  const [since] = useState(newSince);
  const [readAt] = useState(Date.now);
  const isNew = ({ createdAt }: RowFragment) =>
    (source.posted !== undefined || source.fresh) && Date.parse(createdAt) > since;
  /** What is said between the new articles of a list by time and the others: before a row. */
  const sinceBefore = (i: number) => {
    const last = articles[i - 1] ?? above;
    const article = articles[i];
    if (source.ranked || before === undefined || !last || !article || !isNew(last) || isNew(article)) return;
    return fill(texts.newSince, { n: before + i, time: clock(since, now) });
  };
  const seen = useCallback(() => sawNews(readAt), []);

  // Before the browser paints: a list that is restored is never seen at another scroll position.
  useLayoutEffect(() => {
    if (page) onShown(index, page.totalCount, !page.pageInfo.hasNextPage);
  }, [page === undefined]);

  if (!page) {
    return error ? <Failed error={error} retry={retry} /> : <Skeleton />;
  }
  if (page.nodes.length === 0 && index === 0) return after ? <Empty title={texts.endOfList} /> : empty;
  const { hasNextPage, endCursor } = page.pageInfo;
  return (
    <>
      <ol ref={part} data-after={after}>
        {page.nodes.map((article, i) => (
          <Row
            key={article.id}
            article={article}
            now={now}
            rank={source.ranked && before !== undefined ? before + i + 1 : undefined}
            group={source.group}
            note={source.note?.(article, now)}
            isNew={isNew(article)}
            since={sinceBefore(i)}
            seen={seen}
            above={source.ranked === "score" ? (page.nodes[i - 1] ?? above) : undefined}
          />
        ))}
      </ol>
      {hasNextPage &&
        endCursor &&
        (index + 1 < parts ? (
          <Part
            {...{ source, parts, restored, onShown, more }}
            after={endCursor}
            index={index + 1}
            before={before === undefined ? undefined : before + page.nodes.length}
            above={page.nodes.at(-1)}
          />
        ) : (
          <More after={endCursor} more={more} waits={(index + 1) % partsAtOnce === 0} />
        ))}
    </>
  );
}

interface MoreProps {
  after: string;
  more(): void;
  /** Whether it waits for a click. */
  waits: boolean;
}

/** Loads the next part when the visitor scrolls near, or on a click. Also a plain link to that part. */
function More({ after, more, waits }: MoreProps) {
  const { path, search } = useVisit();
  const [near, link] = useNear<HTMLAnchorElement>("50% 0px", false, []);
  useEffect(() => {
    if (near && !waits) more();
  }, [near]);
  const click = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    more();
  };
  return (
    <a ref={link} class="more" href={path + address(search, after)} onClick={click}>
      {texts.moreArticles}
    </a>
  );
}
