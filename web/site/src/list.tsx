import { type DocumentInput, useQuery } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { PageFragment, RowFragment } from "./gql";
import { useFresh, useLive, useNear } from "./live";
import { useNow } from "./page";
import { isHere, navigate, remember, useScroll, useVisit } from "./router";
import { Row } from "./row";
import { Empty, Failed, Skeleton } from "./states";
import { counted } from "./text";
import { closing } from "./time";

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

// So many parts are read again, one after another, when the page is loaded anew. A list that
// was longer begins at the part that the address tells.
const mostLoaded = 20;

/**
 * A list that goes on as one scrolls. Each part has an address of its own, by its cursor. On a
 * new visit the list is read anew; on the way back it is as it was left. It is never sorted
 * under the reader's hand: votes change numbers alone, and new articles wait to be asked for.
 */
export function ArticleList({ source, empty }: { source: Source; empty: ComponentChildren }) {
  const visit = useVisit();
  const restored = visit.came !== "new";
  const far = visit.came === "loaded" && (visit.left.parts ?? 1) > mostLoaded;
  const [left] = useState(restored && !far ? visit.left : {});
  const [start] = useState(left.start ?? new URLSearchParams(visit.search).get("after") ?? "");
  const wanted = left.parts ?? 1;
  const [parts, setParts] = useState(wanted);
  const [total, setTotal] = useState<number>();
  const [shown, setShown] = useState(0);
  const list = useRef<HTMLDivElement>(null);

  useScroll(shown >= wanted && !far);
  useEffect(() => {
    const follow = () => {
      if (!isHere(visit)) return;
      const at = [...(list.current?.querySelectorAll<HTMLElement>("[data-after]") ?? [])];
      if (at.length === 0) return;
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

  const fresh = useFresh(source.posted, total, restored);
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
  const [{ data, error }, execute] = useQuery({
    query: source.query,
    variables: { ...source.variables, after: after || null },
    requestPolicy: index < kept ? "cache-first" : "network-only",
  });
  const again = () => execute({ requestPolicy: "network-only" });
  const page = data && source.read(data);
  const articles = page?.nodes ?? [];
  const now = useNow(articles.map(closing));
  const [near, part] = useNear<HTMLOListElement>("100% 0px", true, [page === undefined]);
  useLive(articles, near, index < kept);

  useEffect(() => {
    if (page) onShown(index, page.totalCount, !page.pageInfo.hasNextPage);
  }, [page === undefined]);

  if (!page) {
    return error ? <Failed error={error} again={again} /> : <Skeleton />;
  }
  if (page.nodes.length === 0 && index === 0) return after ? <Empty title="The list ends here" /> : empty;
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
  const [near, link] = useNear<HTMLAnchorElement>("50% 0px", false, []);
  useEffect(() => {
    if (near) more();
  }, [near]);
  return (
    <a ref={link} class="more" href={`${path}?${new URLSearchParams({ after })}`}>
      More articles
    </a>
  );
}
