import { browserStorage, windowStorage } from "../ui/storage";
import { randomKey } from "../ui/text";
import type { FrameFragment } from "./gql";

export type Site = FrameFragment["site"];

/** The identity that the requests of this window use. */
export interface Session {
  /** Sent to the server in the headers of requests, and in the first message of a WebSocket. */
  credentials: Record<string, string>;
}

// Names are for development: each window can have its own, and a new window starts with the latest one.
// A token is shared by all windows. An application of the same origin can store it.
const nameKey = "frontpage.name";
const tokenKey = "frontpage.token";
const stateKey = "frontpage.state";
const methodKey = "frontpage.signIn";
const viewerKey = "frontpage.viewer";

export function readSession(): Session {
  const name = accepts("NAME") && (windowStorage.get(nameKey) ?? browserStorage.get(nameKey));
  if (name) {
    windowStorage.set(nameKey, name);
    return { credentials: { "X-User-ID": name } };
  }
  const token = accepts("TOKEN") && browserStorage.get(tokenKey);
  return { credentials: token ? { Authorization: `Bearer ${token}` } : {} };
}

/** Remembers how users sign in, so that the server gets no credentials of another kind. */
export const rememberMethod = ({ signIn }: Site) => browserStorage.set(methodKey, signIn);

/** Reports whether a cookie says who is signed in, which scripts cannot see. */
export const hasCookie = () => browserStorage.get(methodKey) === "SESSION";

/** Before the server has answered for the first time, it may accept either. */
const accepts = (method: Site["signIn"]) => (browserStorage.get(methodKey) ?? method) === method;

export const isAnonymous = (session: Session) => Object.keys(session.credentials).length === 0;
export const isSame = (a: Session, b: Session) => JSON.stringify(a) === JSON.stringify(b);

export function signInAs(name: string): void {
  windowStorage.set(nameKey, name);
  browserStorage.set(nameKey, name);
}

export function signInWith(token: string): void {
  browserStorage.set(tokenKey, token.trim().replace(/^Bearer\s+/i, ""));
}

export function signOut(): void {
  windowStorage.set(nameKey, "");
  browserStorage.remove(nameKey);
  browserStorage.remove(tokenKey);
}

/** Tells the other windows who is signed in: a cookie, which scripts cannot see, is the same for all. */
export const announce = (viewer = "") => browserStorage.set(viewerKey, viewer);

/** The user whom a window announced last. */
export const announced = () => browserStorage.get(viewerKey);

/**
 * Calls back when the user may have changed: in another window, by an application of the same origin, or on a later page
 * of this window, if the browser has restored this one from its back/forward cache.
 */
export function onUserChange(callback: () => void): () => void {
  const listener = (event: Event) => {
    const { key, persisted } = event as StorageEvent & PageTransitionEvent;
    if (persisted || key === tokenKey || key === viewerKey || key === null) callback();
  };
  addEventListener("storage", listener);
  addEventListener("pageshow", listener);
  return () => {
    removeEventListener("storage", listener);
    removeEventListener("pageshow", listener);
  };
}

/**
 * Returns the URL of the external sign-in page, which must redirect back to /signin with the token
 * after `#token=`. The random state in the return URL proves that this window started the sign-in,
 * so that a link cannot sign a visitor in as another user.
 */
export function signInAddress(site: Site, to: string): string {
  const state = windowStorage.get(stateKey) ?? randomKey();
  windowStorage.set(stateKey, state);
  const back = `${location.origin}/signin?${new URLSearchParams({ to, state })}`;
  const target = site.signIn === "TOKEN" ? back : location.origin + to;
  return (site.signInURL ?? "").replaceAll("{return}", encodeURIComponent(target));
}

/** Stores the token that the external sign-in page returned. Reports whether there was a valid one. */
export function takeToken(site: Site): boolean {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return false;
  const state = windowStorage.get(stateKey);
  windowStorage.remove(stateKey);
  if (site.signIn !== "TOKEN" || !state || new URLSearchParams(location.search).get("state") !== state)
    return false;
  signInWith(token);
  return true;
}

/** Returns the path to open after signing in. It is always one of this site, to prevent open redirects. */
export function returnPath(search: string): string {
  const to = new URLSearchParams(search).get("to") ?? "/";
  const url = URL.canParse(to, location.origin) ? new URL(to, location.origin) : undefined;
  return url?.origin === location.origin && /^\/(?!\/|signin$)/.test(url.pathname)
    ? url.pathname + url.search
    : "/";
}
