import type { DocumentInput } from "@urql/preact";
import { useClient, useQuery, useSubscription } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ArticleChanged, ArticlePosted, type PageFragment, Refresh, type RowFragment } from "./gql";
import { useNow, usePage } from "./page";
import { navigate, remember, useScroll, useVisit } from "./router";
import { Row } from "./row";
import { Failed, Skeleton } from "./states";
import { counted } from "./text";

/** Which articles a list shows. */
export interface Source {
  query: DocumentInput;
  variables: object;
  read(data: unknown): PageFragment | undefined;
  /** Whether places in it come from scores. */
  ranked: boolean;
  /** What new articles to tell of: those of the site, or of a group; none when it is missing. */
  posted?: { group?: string };
}

const mostRestored = 20; // parts that are read again at once when the page was loaded anew
const mostRefreshed = 100; // the server's limit

/**
 * A list that goes on as one scrolls. Each part has an address of its own, by its cursor. On a
 * new visit the list is read anew; on the way back it is as it was left. It is never sorted
 * under the reader's hand: votes change numbers alone, and new articles wait to be asked for.
 */
export function ArticleList({ source, empty }: { source: Source; empty: ComponentChildren }) {
  const visit = useVisit();
  const restored = visit.came === "back";
  const [start] = useState(
    () => (restored ? visit.left.start : undefined) ?? new URLSearchParams(visit.search).get("after") ?? "",
  );
  const [parts, setParts] = useState(() => (restored ? Math.min(visit.left.parts ?? 1, mostRestored) : 1));
  const [wanted] = useState(parts);
  const [total, setTotal] = useState<number>();
  const [shown, setShown] = useState(0);
  const list = useRef<HTMLDivElement>(null);

  useScroll(shown >= wanted);
  useEffect(() => {
    const follow = () => {
      const at = [...(list.current?.querySelectorAll<HTMLElement>("[data-after]") ?? [])];
      const current = at.findLast((part) => part.getBoundingClientRect().top < innerHeight / 3) ?? at[0];
      const after = current?.dataset.after;
      const search = after ? `?${new URLSearchParams({ after })}` : "";
      if (location.search !== search || history.state.parts !== parts)
        remember({ parts, start }, visit.path + search);
    };
    follow();
    addEventListener("scrollend", follow);
    return () => removeEventListener("scrollend", follow);
  }, [parts, shown]);

  const fresh = useFresh(source, list, total, restored);
  const onShown = useCallback((index: number, size: number, last: boolean) => {
    setTotal((before) => before ?? size);
    setShown((before) => Math.max(before, last ? Number.POSITIVE_INFINITY : index + 1));
  }, []);

  return (
    <div ref={list} class="list">
      <p class="fresh" role="status">
        {fresh > 0 && (
          <button type="button" onClick={() => navigate(visit.path, "replace")}>
            {counted(fresh, "new article")}
          </button>
        )}
      </p>
      {start && (
        <p class="further">
          This is further down the list. <a href={visit.path}>Go to its top</a>
        </p>
      )}
      <Part
        source={source}
        after={start}
        index={0}
        parts={parts}
        place={start ? undefined : 1}
        kept={restored ? wanted : 0}
        empty={empty}
        onShown={onShown}
        more={() => setParts((count) => count + 1)}
      />
    </div>
  );
}

/** Counts what was posted since the list was read, and brings what it shows up to date after a silence. */
function useFresh(
  source: Source,
  list: { current: HTMLElement | null },
  total: number | undefined,
  restored: boolean,
): number {
  const { connections } = usePage();
  const client = useClient();
  const [fresh, setFresh] = useState(0);
  const known = useRef(restored ? -1 : connections);

  useSubscription(
    { query: ArticlePosted, variables: source.posted ?? {}, pause: !source.posted },
    (_before, data) => {
      setFresh((count) => count + 1);
      return data;
    },
  );
  useEffect(() => {
    if (total === undefined || known.current === connections) return;
    known.current = connections;
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-id]") ?? [])];
    const near = rows.findIndex((row) => row.getBoundingClientRect().bottom > 0);
    const ids = rows
      .slice(Math.max(0, near - 10))
      .slice(0, mostRefreshed)
      .map((row) => row.dataset.id as string);
    const group = source.posted?.group;
    const variables = {
      ids,
      group: group ?? "",
      inGroup: group !== undefined,
      onSite: source.posted !== undefined && group === undefined,
    };
    void client
      .query(Refresh, variables, { requestPolicy: "network-only" })
      .toPromise()
      .then(({ data }) => {
        const now = (data?.group ?? data)?.articlesConnection?.totalCount;
        if (now !== undefined) setFresh(Math.max(0, now - total));
      });
  }, [connections, total]);
  return fresh;
}

interface PartProps {
  source: Source;
  after: string;
  index: number;
  /** How many parts there are to be. */
  parts: number;
  /** The place of the first row; undefined when it is not known. */
  place?: number;
  above?: RowFragment;
  /** How many parts the reader has come back to: what is kept of them is shown. */
  kept: number;
  empty?: ComponentChildren;
  onShown(index: number, total: number, last: boolean): void;
  more(): void;
}

/** A part of a list and, behind it, the parts that follow. */
function Part({ source, after, index, parts, place, above, kept, empty, onShown, more }: PartProps) {
  const { connections } = usePage();
  const now = useNow();
  const [{ data, error }, execute] = useQuery({
    query: source.query,
    variables: { ...source.variables, after: after || null },
    requestPolicy: index < kept ? "cache-first" : "network-only",
  });
  const again = () => execute({ requestPolicy: "network-only" });
  const page = data && source.read(data);
  const ids = page?.nodes.map((article) => article.id) ?? [];
  const [near, part] = useNear<HTMLOListElement>("100% 0px", [page === undefined]);
  useSubscription({ query: ArticleChanged, variables: { ids }, pause: !near || ids.length === 0 });

  useEffect(() => {
    if (page) onShown(index, page.totalCount, !page.pageInfo.hasNextPage);
  }, [page === undefined]);
  useEffect(() => {
    if (error && !page) again();
  }, [connections]);

  if (!page) {
    return error ? <Failed error={error} again={again} /> : <Skeleton />;
  }
  if (page.nodes.length === 0 && index === 0) return <>{empty}</>;
  const { hasNextPage, endCursor } = page.pageInfo;
  return (
    <>
      <ol ref={part} data-after={after}>
        {page.nodes.map((article, i) => (
          <Row
            key={article.id}
            article={article}
            now={now}
            place={place && place + i}
            above={source.ranked ? (page.nodes[i - 1] ?? above) : undefined}
          />
        ))}
      </ol>
      {hasNextPage &&
        endCursor &&
        (index + 1 < parts ? (
          <Part
            {...{ source, parts, kept, onShown, more }}
            after={endCursor}
            index={index + 1}
            place={place && place + page.nodes.length}
            above={page.nodes.at(-1)}
          />
        ) : (
          <More after={endCursor} more={more} />
        ))}
    </>
  );
}

/** Where a list goes on: by itself when the reader comes near, and as a link. */
function More({ after, more }: { after: string; more(): void }) {
  const { path } = useVisit();
  const [near, link] = useNear<HTMLAnchorElement>("50% 0px", []);
  useEffect(() => {
    if (near) more();
  }, [near]);
  return (
    <a ref={link} class="more" href={`${path}?${new URLSearchParams({ after })}`}>
      More articles
    </a>
  );
}

/** Whether an element is in the window, or within a margin of it. */
function useNear<E extends Element>(margin: string, on: unknown[]): [boolean, { current: E | null }] {
  const element = useRef<E>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(([entry]) => setNear(entry?.isIntersecting ?? false), {
      rootMargin: margin,
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, on);
  return [near, element];
}
