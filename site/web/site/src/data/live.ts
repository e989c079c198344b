import { type AnyVariables, type DocumentInput, useClient, useSubscription } from "@urql/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Reader, reader } from "./client";
import { ArticleChanged, ArticlePosted, Length, type RowFragment } from "./gql";
import { usePage } from "./page";

interface Seen {
  connections?: number;
  events: number;
}

/**
 * Counts articles posted since the list was read. After each event that may have added one, it asks the
 * server for the length of the list.
 */
export function useFresh(
  posted: { group?: string } | undefined,
  total: number | undefined,
  restored: boolean,
): number {
  const { connections } = usePage();
  const [fresh, setFresh] = useState(0);
  const [events, setEvents] = useState(0);
  const seen = useRef({ connections: restored ? -1 : undefined, events: 0 } as Seen);

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
    seen.current.connections ??= connections;
    if (seen.current.connections !== connections || seen.current.events !== events) length.read();
    seen.current = { connections, events };
  }, [connections, events, total]);
  return fresh;
}

/** Reports whether the window is seen. */
function useSeen(): boolean {
  const [seen, setSeen] = useState(true);
  useEffect(() => {
    const follow = () => setSeen(document.visibilityState !== "hidden");
    follow();
    addEventListener("visibilitychange", follow);
    return () => removeEventListener("visibilitychange", follow);
  }, []);
  return seen;
}

/**
 * Subscribes to the articles of a part while it is near the viewport of a window that is seen. Their revisions say what the page
 * has: what changed before, or while the connection was lost, is sent.
 */
export function useLive(articles: RowFragment[], near: boolean): void {
  const ids = articles.map((article) => article.id);
  const shown = useSeen() && near;
  const variables = useMemo(
    () => ({ ids, revisions: articles.map(({ revision }) => revision) }),
    [ids.join(), shown],
  );
  useSubscription({ query: ArticleChanged, variables, pause: !shown || ids.length === 0 });
}

/** A reader that is replaced when a dependency changes, and stopped when the component unmounts. */
function useReader<Data, Variables extends AnyVariables>(
  query: DocumentInput<Data, Variables>,
  variables: Variables,
  dependencies: unknown[],
  use?: (data: Data) => void,
): Reader {
  const client = useClient();
  const current = useMemo(() => reader(client, query, variables, use), [client, ...dependencies]);
  useEffect(() => current.stop, [current]);
  return current;
}
