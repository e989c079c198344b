import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";

/** What every part of the page may need to know. */
export interface Page {
  /** Who is signed in; undefined when nobody is. */
  viewer?: string;
  /** Whether live updates arrive. */
  online: boolean;
  /** How often the connection was made. After a change, what was read before may be old. */
  connections: number;
  /** Reads who is signed in anew, after they signed in or out. */
  refresh(): void;
  /** Shows a message for a while, and reads it out. */
  say(message: string): void;
}

export const PageContext = createContext<Page>({ online: true, connections: 0, refresh() {}, say() {} });
export const usePage = () => useContext(PageContext);

/** Unix milliseconds; goes on every 15 s. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 15_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Names the window. */
export function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = title ? `${title} · Frontpage` : "Frontpage";
  }, [title]);
}
