import { useLayoutEffect, useState } from "preact/hooks";
import { windowStorage } from "./storage";
import { config } from "./strings";

/** The orders of a list, as the API names them. */
type Order = "SCORE" | "TIME";

/** State of a page when it was left: scroll position, number of parts of the list, and cursor of the first one. */
export interface Saved {
  y?: number;
  parts?: number;
  start?: string;
  /** Id of the article whose row had the focus. */
  at?: string;
}

/** A page of the site. */
export type Route =
  | LaterRoute
  | { page: "list"; order: Order; group?: string }
  | { page: "user"; name: string }
  | { page: "missing" };

/** A page of the second script. */
export type LaterRoute =
  | { page: "groups" | "search" | "submit" | "signin" | "lab" | "reports" | "notice" | "saved" | "following" }
  | { page: "article"; id: string }
  | { page: "from"; name: string }
  | { page: "top"; part: Span; group?: string }
  | { page: "past"; day?: string }
  | { page: "votes"; part?: (typeof directions)[number] }
  | { page: "mod"; part?: (typeof tabs)[number] };

/** The spans of the lists of top articles. */
export const spans = ["DAY", "WEEK", "MONTH", "YEAR", "ALL"] as const;
export type Span = (typeof spans)[number];
/** The directions of the lists of votes. */
export const directions = ["UP", "DOWN"] as const;
const tabs = ["REMOVED", "DENIED", "LOG"] as const;

/** The pages whose paths have one segment, or may have. */
const single: LaterRoute["page"][] = [
  "groups",
  "search",
  "submit",
  "signin",
  "past",
  "votes",
  "mod",
  "reports",
  "notice",
  "saved",
  "following",
  "lab",
];

/** The pages whose paths have a second segment of these. */
const parts: Record<string, readonly string[]> = { top: spans, votes: directions, mod: tabs };

/** Returns the page of a path: `missing` for an unknown path, or one that cannot be decoded. */
export function parse(path: string): Route {
  let segments: string[];
  try {
    segments = path
      .split("/")
      .slice(1)
      .map((part) => decodeURIComponent(part).trim());
  } catch {
    return { page: "missing" };
  }
  const [first = "", second = "", third, fourth, ...rest] = segments;
  const leftOut = (page: string) => config.without.includes(page);
  if (first === "g" && third === "top" && rest.length === 0 && !leftOut("group-top")) {
    const part = spans.find((span) => span.toLowerCase() === fourth);
    return part && second ? { page: "top", part, group: second } : { page: "missing" };
  }
  if (leftOut(first) || fourth !== undefined || (third !== undefined && !(first === "g" && third === "new")))
    return { page: "missing" };
  if (segments.length === 1) {
    if (!first) return { page: "list", order: "SCORE" };
    if (first === "new") return { page: "list", order: "TIME" };
    if ((single as string[]).includes(first)) return { page: first } as LaterRoute;
  } else if (second) {
    switch (first) {
      case "g":
        return { page: "list", order: third ? "TIME" : "SCORE", group: second };
      case "a":
        return isArticle(second) ? { page: "article", id: `article:${second}` } : { page: "missing" };
      case "u":
        return { page: "user", name: second };
      case "from":
        return { page: first, name: second };
    }
    const part = parts[first]?.find?.((part) => part.toLowerCase() === second);
    if (part) return { page: first, part } as LaterRoute;
    if (first === "past" && isDay(second)) return { page: first, day: second };
  }
  return { page: "missing" };
}

/** Reports whether the site has a page with this path. */
export const has = (path: string) => parse(path).page !== "missing";

const maxNumber = 2 ** 31 - 1;
const isArticle = (number: string) => /^[1-9]\d{0,9}$/.test(number) && Number(number) <= maxNumber;

/** Reports whether a text is a date such as 2026-11-21. */
const isDay = (text: string) => text.length === 10 && new Date(text).toJSON()?.startsWith(text);

// Browsers resolve the path segments "." and "..". A trailing space, which no name has, prevents that.
const segment = (name: string) => encodeURIComponent(/^\.\.?$/.test(name) ? `${name} ` : name);

export const paths = {
  list: (order: Order, group?: string) =>
    group ? `/g/${segment(group)}${order === "TIME" ? "/new" : ""}` : order === "TIME" ? "/new" : "/",
  article: (number: number) => `/a/${number}`,
  top: (span: Span, group?: string) => `${group ? `/g/${segment(group)}` : ""}/top/${span.toLowerCase()}`,
  user: (name: string) => `/u/${segment(name)}`,
  host: (name: string) => `/from/${segment(name)}`,
};

/** The path before the feeds of a page. Pages without their own have those of the front page. */
export const feeds = (path: string) =>
  path.match(/^\/(new|g\/[^/]+(\/new)?|u\/[^/]+)(?=$|\/top\/)/)?.[0] ?? "";

/**
 * An entry of the browser's history. `key` identifies it, so that a page can detect a new visit.
 * `arrival` is how the visitor arrived: "new" by a link, "back" by the back or forward button, "loaded"
 * by a reload. The last two restore the page as it was left.
 */
export interface Visit {
  key: string;
  path: string;
  search: string;
  arrival: "new" | "back" | "loaded";
  /** Whether it is the first one of this page load: the server may have rendered it. */
  first: boolean;
  /** State of the page when it was left. */
  saved: Saved;
  /** Scroll position of the page that the server rendered, if it begins like the one that was left. */
  placed?: number;
}

interface State extends Saved {
  key: string;
}

const scrollPause = 150; // milliseconds without scrolling until the position is saved
// Maximum number of parts of a list that are read again when the page is reloaded. A longer list starts at the part in
// the URL instead.
const maxRestored = 20;
const listeners = new Set<() => void>();
let visit: Visit;

const newState = (): State => ({ key: Math.random().toString(36).slice(2) });

function enter(arrival: Visit["arrival"], first = false): void {
  if (!history.state) history.replaceState(newState(), "");
  const state = history.state as State;
  visit = { key: state.key, path: location.pathname, search: location.search, arrival, first, saved: state };
  for (const listener of listeners) listener();
}

/** Starts to follow the history of this window. */
export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => enter("back"));
  let timer: ReturnType<typeof setTimeout>;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    const { key } = visit;
    timer = setTimeout(() => key === visit.key && remember({ y: scrollY }), scrollPause);
  });
  if (!history.state) restorePlace();
  if (history.state?.parts > maxRestored) history.replaceState(null, "");
  enter(history.state ? "loaded" : "new", true);
}

/**
 * Scrolls what the server has rendered to where the visitor left it, before the script takes it over. Returns the
 * state of the page when it was left.
 */
export function place(): Saved {
  const { arrival, saved, search } = visit;
  const after = new URLSearchParams(search).get("after") ?? "";
  if (arrival !== "new" && after === (saved.start ?? "")) {
    scrollTo(0, saved.y ?? 0);
    visit.placed = scrollY;
  }
  return saved;
}

const placeKey = "frontpage.place";

/** Keeps the state of this page, to which a visitor who signs in comes back. */
export function keepPlace(path: string): void {
  remember({ y: scrollY });
  windowStorage.set(placeKey, JSON.stringify([path, history.state]));
}

/** Gives the entry of the history the state of its page, if that was kept. */
function restorePlace(): boolean {
  const [path, state] = JSON.parse(windowStorage.get(placeKey) ?? "[]");
  windowStorage.remove(placeKey);
  const found = path === location.pathname + location.search;
  if (found) history.replaceState(state, "");
  return found;
}

/**
 * Goes to an address of this origin. A page of the site becomes a new visit, even if it is the
 * current page. Any other address is loaded by the browser.
 */
export function navigate(to: string, how: "push" | "replace" = "push"): void {
  if (!has(new URL(to, location.origin).pathname)) {
    location.assign(to);
    return;
  }
  const at = document.activeElement?.closest<HTMLElement>("[data-id]")?.dataset.id;
  remember({ y: scrollY, at });
  history[how === "push" ? "pushState" : "replaceState"](newState(), "", to);
  enter(how === "replace" && restorePlace() ? "loaded" : "new");
}

/** Saves state of this visit in the history, and optionally changes the URL. The visit stays the same. */
export function remember(state: Saved, address = ""): void {
  history.replaceState({ ...history.state, ...state }, "", address || location.href);
}

/** Restores the scroll position and the focus as soon as the page is ready. */
export function useScroll(ready: boolean): void {
  const visit = useVisit();
  useLayoutEffect(() => {
    if (!ready || visit.arrival === "new") return;
    const { y = 0, at } = visit.saved;
    // In the meantime the visitor may have scrolled on.
    if ((visit.placed ?? scrollY) === scrollY) scrollTo(0, y);
    if (at) document.querySelector<HTMLElement>(`[data-id="${at}"] .title`)?.focus({ preventScroll: true });
  }, [ready]);
}

/** Reports whether this is still the current visit. */
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

/** Handles clicks on plain links within the site: changes the page without a page load. */
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
