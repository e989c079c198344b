import { useLayoutEffect, useState } from "preact/hooks";
import type { ArticleOrder } from "./gql";

/** What an address of the site shows. */
export type Route =
  | { page: "list"; order: ArticleOrder; group?: string }
  | { page: "groups" }
  | { page: "article"; id: string }
  | { page: "user"; name: string }
  | { page: "submit" }
  | { page: "signin" }
  | { page: "missing" };

/** Finds what a path shows. A path that nothing lives at, or that cannot be decoded, is missing. */
export function parse(path: string): Route {
  let parts: string[];
  try {
    parts = path
      .split("/")
      .slice(1)
      .map((part) => decodeURIComponent(part).trim());
  } catch {
    return { page: "missing" };
  }
  const [first = "", second = "", third, ...rest] = parts;
  if (rest.length > 0 || (third !== undefined && !(first === "g" && third === "new"))) {
    return { page: "missing" };
  }
  if (parts.length === 1) {
    switch (first) {
      case "":
        return { page: "list", order: "SCORE" };
      case "new":
        return { page: "list", order: "TIME" };
      case "groups":
      case "submit":
      case "signin":
        return { page: first };
    }
  } else if (second !== "") {
    switch (first) {
      case "g":
        return { page: "list", order: third ? "TIME" : "SCORE", group: second };
      case "a":
        return /^\d+$/.test(second) ? { page: "article", id: `article:${second}` } : { page: "missing" };
      case "u":
        return { page: "user", name: second };
    }
  }
  return { page: "missing" };
}

// A browser takes a part that is a dot or two for a folder. A blank behind it, which no name has, keeps it.
const part = (name: string) => encodeURIComponent(/^\.\.?$/.test(name) ? `${name} ` : name);

export const paths = {
  list: (order: ArticleOrder, group?: string) =>
    group ? `/g/${part(group)}${order === "TIME" ? "/new" : ""}` : order === "TIME" ? "/new" : "/",
  article: (number: number) => `/a/${number}`,
  user: (name: string) => `/u/${part(name)}`,
};

/**
 * One entry of the browser's history. `key` is its identity, by which a page knows that it is
 * a new visit; `came` says whether the reader came back to it, or loaded it anew, and is to
 * find it as it was left.
 */
export interface Visit {
  key: string;
  path: string;
  search: string;
  came: "new" | "back" | "loaded";
  /** How it was left: how far down, how many parts of a list, from which cursor on. */
  left: Left;
}

export interface Left {
  y?: number;
  parts?: number;
  start?: string;
  /** Id of the article whose row had the focus. */
  at?: string;
}

interface State extends Left {
  key: string;
}

const settled = 150; // milliseconds without scrolling
const listeners = new Set<() => void>();
let visit: Visit;

const newState = (): State => ({ key: Math.random().toString(36).slice(2) });

function enter(came: Visit["came"]): void {
  if (!history.state) history.replaceState(newState(), "");
  const state = history.state as State;
  visit = { key: state.key, path: location.pathname, search: location.search, came, left: state };
  for (const listener of listeners) listener();
}

/** Follows the history of this window from now on. */
export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => enter("back"));
  let timer: ReturnType<typeof setTimeout>;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    const { key } = visit;
    timer = setTimeout(() => key === visit.key && remember({ y: scrollY }), settled);
  });
  enter(history.state ? "loaded" : "new");
}

/**
 * Goes to an address of this origin. One of the site is a new visit, also when the reader is
 * there already; every other one is loaded.
 */
export function navigate(to: string, how: "push" | "replace" = "push"): void {
  if (parse(new URL(to, location.origin).pathname).page === "missing") {
    location.assign(to);
    return;
  }
  const at = document.activeElement?.closest<HTMLElement>("[data-id]")?.dataset.id;
  remember({ y: scrollY, at });
  history[how === "push" ? "pushState" : "replaceState"](newState(), "", to);
  enter("new");
}

/** Keeps how this visit is left, and perhaps shows it in the address. It stays the same visit. */
export function remember(left: Left, address = ""): void {
  history.replaceState({ ...history.state, ...left }, "", address || location.href);
}

/** Puts the reader and the focus where they left the page, as soon as it is there again. */
export function useScroll(ready: boolean): void {
  const visit = useVisit();
  useLayoutEffect(() => {
    if (!ready || visit.came === "new") return;
    const { y = 0, at } = visit.left;
    scrollTo(0, y);
    if (at) document.querySelector<HTMLElement>(`[data-id="${at}"] .title`)?.focus({ preventScroll: true });
  }, [ready]);
}

/** Whether the reader has not gone elsewhere since. */
export const isHere = (visit: Visit) => history.state.key === visit.key;

export function useVisit(): Visit {
  const [current, setCurrent] = useState(visit);
  useLayoutEffect(() => {
    const follow = () => setCurrent(visit);
    listeners.add(follow);
    follow();
    return () => listeners.delete(follow);
  }, []);
  return current;
}

/** Makes plain links within the site change the page without loading it anew. */
export function followLinks(event: MouseEvent): void {
  const link = (event.target as Element).closest("a");
  const own = link && link.origin === location.origin && !link.target;
  if (
    !own ||
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  ) {
    return;
  }
  event.preventDefault();
  if (link.hash && link.pathname + link.search === location.pathname + location.search) {
    document.getElementById(link.hash.slice(1))?.focus();
    return;
  }
  navigate(link.pathname + link.search + link.hash);
}
