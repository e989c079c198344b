import { type AnyVariables, type DocumentInput, useClient, useSubscription } from "@urql/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Reader, reader } from "./client";
import { ArticleChanged, ArticlePosted, Length, type RowFragment, Shown } from "./gql";
import { usePage } from "./page";

interface Known {
  connections?: number;
  events: number;
}

/** Counts what was posted since the list was read: whenever it may have become more, the server is asked how long the list is. */
export function useFresh(
  posted: { group?: string } | undefined,
  total: number | undefined,
  restored: boolean,
): number {
  const { connections } = usePage();
  const [fresh, setFresh] = useState(0);
  const [events, setEvents] = useState(0);
  const known = useRef({ connections: restored ? -1 : undefined, events: 0 } as Known);

  useSubscription({ query: ArticlePosted, variables: posted ?? {}, pause: !posted }, (_before, data) => {
    setEvents((count) => count + 1);
    return data;
  });
  const group = posted?.group;
  const variables = { group: group ?? "", inGroup: group !== undefined, onSite: group === undefined };
  const length = useReader(Length, variables, [group, total], (data) => {
    const now = (data.group ?? data).articlesConnection?.totalCount ?? 0;
    setFresh(Math.max(0, now - (total ?? now)));
  });
  useEffect(() => {
    if (!posted || total === undefined) return;
    known.current.connections ??= connections;
    if (known.current.connections !== connections || known.current.events !== events) length.read();
    known.current = { connections, events };
  }, [connections, events, total]);
  return fresh;
}

/** Keeps the articles of a part live while it is near the window. Coming near again, or after a silence, it reads them anew. */
export function useLive(articles: RowFragment[], near: boolean, restored: boolean): void {
  const { connections } = usePage();
  const known = useRef(restored ? -1 : undefined);
  const ids = articles.map((article) => article.id);
  const some = ids.length > 0;

  useSubscription({ query: ArticleChanged, variables: { ids }, pause: !near || !some });
  const shown = useReader(Shown, { ids }, [ids.join()]);
  useEffect(() => {
    if (!some) return;
    known.current ??= connections;
    if (near && known.current !== connections) shown.read();
    known.current = near ? connections : -1;
  }, [near, connections, some]);
}

/** A reader that is another one when something of `on` changes, and stops with the part of the page. */
function useReader<Data, Variables extends AnyVariables>(
  query: DocumentInput<Data, Variables>,
  variables: Variables,
  on: unknown[],
  use?: (data: Data) => void,
): Reader {
  const client = useClient();
  const current = useMemo(() => reader(client, query, variables, use), [client, ...on]);
  useEffect(() => current.stop, [current]);
  return current;
}

/** Whether an element is in the window, or within a margin of it; at first, until that is known, `first`. */
export function useNear<E extends Element>(
  margin: string,
  first: boolean,
  on: unknown[],
): [boolean, { current: E | null }] {
  const element = useRef<E>(null);
  const [near, setNear] = useState(first);
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
