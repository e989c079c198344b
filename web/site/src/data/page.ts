import type { CombinedError } from "@urql/preact";
import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Later } from "../pages/load";
import { config, fill, texts } from "../ui/strings";
import type { Site } from "./session";

/** What moderators' forms have to know of an article. */
export interface Subject {
  id: string;
  number: number;
  title: string;
  poster: { name: string };
}

/** What a group says about itself. */
export interface Described {
  name: string;
  description: string | null;
  rules: string[];
}

/** What moderators do with an article in a form. */
export type Act = "remove" | "groups" | "author";

/** State of the page that its parts share. */
export interface Page {
  /** Undefined until the server has answered. */
  site?: Site;
  /** Name of the signed-in user; undefined for anonymous visitors. */
  viewer?: string;
  /** Whether they are a moderator. */
  moderates?: boolean;
  /** What moderators have in menus, once it is loaded: the entry of their pages, and forms about an article. */
  tools?: {
    entry: ComponentChildren;
    open(article: Subject, form: Act): void;
    describe(group: Described): void;
  };
  /** Waits until it is known who is signed in. */
  identify(): Promise<{ site?: Site; viewer?: string; error?: CombinedError }>;
  /** Number of connections so far. When it changes, what was read before may be out of date. */
  connections: number;
  /** Reads the session again, after signing in or out. */
  refresh(): void;
  /** Loads the second script, unless it is there. */
  load(): Promise<Later>;
  /** Shows a message for some seconds, with a button if it can be undone. Screen readers announce it. */
  say(message: string, undo?: () => void): void;
}

export const PageContext = createContext<Page>({
  identify: async () => ({}),
  connections: 0,
  refresh() {},
  load: () => new Promise(() => {}),
  say() {},
});
export const usePage = () => useContext(PageContext);

const tick = 15_000; // milliseconds

/** The current time in Unix milliseconds. It advances every 15 s, and exactly at the given times. */
export function useNow(times: number[] = []): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const waits = times.filter((time) => time > now).map((time) => time - Date.now());
    const timer = setTimeout(() => setNow(Date.now()), Math.max(0, Math.min(tick, ...waits)));
    return () => clearTimeout(timer);
  }, [now, times.join()]);
  return now;
}

/** Sets the title of the window. */
export function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = title ? fill(texts.titleOf, { title, site: config.name }) : config.name;
  }, [title]);
}

/** Returns a text once it has not changed for a moment, so that typing does not ask the server at every key. */
export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(settle, 200, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
