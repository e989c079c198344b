import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";

/** What every part of the page may need to know. */
export interface Page {
  /** Who is signed in; undefined when nobody is. */
  viewer?: string;
  /** How often the connection was made. After a change, what was read before may be old. */
  connections: number;
  /** Reads who is signed in anew, after they signed in or out. */
  refresh(): void;
  /** Shows a message for a while, and reads it out. */
  say(message: string): void;
}

export const PageContext = createContext<Page>({ connections: 0, refresh() {}, say() {} });
export const usePage = () => useContext(PageContext);

const tick = 15_000; // milliseconds

/** Unix milliseconds. They go on every 15 s, and exactly at the given moments. */
export function useNow(moments: number[] = []): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const waits = moments.filter((moment) => moment > now).map((moment) => moment - Date.now());
    const timer = setTimeout(() => setNow(Date.now()), Math.max(0, Math.min(tick, ...waits)));
    return () => clearTimeout(timer);
  }, [now, moments.join()]);
  return now;
}

/** Names the window. */
export function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = title ? `${title} · Frontpage` : "Frontpage";
  }, [title]);
}
