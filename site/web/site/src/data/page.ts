import type { CombinedError } from "@urql/preact";
import { type ComponentChildren, createContext, type FunctionComponent } from "preact";
import { useContext } from "preact/hooks";
import type { RowFragment } from "./gql";
import type { follow } from "./keep";
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

/** Where a row stands in its list. */
export interface Place {
  /** Its rank, in a ranked list whose start is known. */
  rank?: number;
  /** The preceding article, in a list ordered by score. */
  above?: RowFragment;
  /** The group of the list, which its rows do not repeat, as they do not repeat the host of the link. */
  group?: string;
  /** What the list says of the article instead of explaining its score; it may be empty. */
  note?: string;
  /** Whether it was posted since the visitor was here. */
  isNew?: boolean;
  /** What is said before the first one that was not, and what happens when that is seen. */
  since?: string;
  seen?(): void;
}

export interface SheetProps {
  article: RowFragment;
  now: number;
  place: Place;
  close(): void;
  /** Shows why the article ranks where it does, or hides that. */
  explain(): void;
}

export interface WhyProps {
  article: RowFragment;
  /** The preceding article of a list. */
  above?: RowFragment;
}

/** The parts of the second script that parts of the first one use: pages/later.tsx exports them. */
export interface Later {
  follow: typeof follow;
  Sheet: FunctionComponent<SheetProps>;
  Why: FunctionComponent<WhyProps>;
}

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
