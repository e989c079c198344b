import { browserStorage } from "../ui/storage";

// What is new since the visitor was here. The browser keeps the time; the server does not know it.

/** In Unix milliseconds: since when articles are new, and when the visitor was last seen. */
interface Seen {
  since: number;
  active: number;
}

const key = "frontpage.seen";
const away = 30 * 60_000; // milliseconds without the site after which a visit is another one

const start = Date.now();
const seen: Seen = JSON.parse(browserStorage.get(key) ?? "null") ?? { since: start, active: start };
if (start - seen.active > away) seen.since = seen.active;

const keep = () => browserStorage.set(key, JSON.stringify({ ...seen, active: Date.now() }));
keep();
// Not on pagehide: requests.ts must be the first to learn that the page is left.
addEventListener("visibilitychange", keep);

/** Returns since when articles are new, in Unix milliseconds. */
export const newSince = (): number => seen.since;

/** Remembers that the visitor has seen all that is new in a list that was read at a time. */
export function sawNews(readAt: number): void {
  seen.since = readAt;
  keep();
}
