import { site } from "./site";
import { ofBrowser, ofWindow } from "./storage";
import { unguessable } from "./text";

/** Who the requests of this window are from. */
export interface Session {
  /** In development mode the name; else known from the server alone. */
  name?: string;
  /** Says it to the server: in the headers of requests, and in the first message of a WebSocket. */
  credentials: Record<string, string>;
}

// A name is for trying: each window may be somebody else, and a new one begins as the last.
// A token is the same in all windows. An application of the same origin may put it there.
const nameKey = "frontpage.name";
const tokenKey = "frontpage.token";
const stateKey = "frontpage.state";

export function readSession(): Session {
  if (site.signIn === "name") {
    const name = ofWindow.get(nameKey) ?? ofBrowser.get(nameKey);
    if (name) {
      ofWindow.set(nameKey, name);
      return { name, credentials: { "X-User-ID": name } };
    }
  }
  const token = site.signIn === "token" && ofBrowser.get(tokenKey);
  return { credentials: token ? { Authorization: `Bearer ${token}` } : {} };
}

export const isNobody = (session: Session) => Object.keys(session.credentials).length === 0;
export const isSame = (a: Session, b: Session) => JSON.stringify(a) === JSON.stringify(b);

export function signInAs(name: string): void {
  ofWindow.set(nameKey, name);
  ofBrowser.set(nameKey, name);
}

export function signInWith(token: string): void {
  ofBrowser.set(tokenKey, token.trim().replace(/^Bearer\s+/i, ""));
}

export function signOut(): void {
  ofWindow.set(nameKey, "");
  ofBrowser.remove(nameKey);
  ofBrowser.remove(tokenKey);
}

/** Calls back when another window, or an application of the same origin, has changed the token. */
export function onTokenChange(callback: () => void): () => void {
  const listener = (event: StorageEvent) => {
    if (event.key === tokenKey || event.key === null) callback();
  };
  addEventListener("storage", listener);
  return () => removeEventListener("storage", listener);
}

/**
 * The address where people sign in elsewhere. It is told to send them back to /signin with
 * the token behind `#token=`. The state in that address proves on return that this window
 * asked, so that nobody can be signed in as somebody else by a link.
 */
export function signInAddress(to: string): string {
  const state = ofWindow.get(stateKey) ?? unguessable();
  ofWindow.set(stateKey, state);
  const back = `${location.origin}/signin?${new URLSearchParams({ to, state })}`;
  const target = site.signIn === "proxy" ? location.origin + to : back;
  return site.signInURL.replaceAll("{return}", encodeURIComponent(target));
}

/** Takes the token that signing in elsewhere came back with. Reports whether there is one. */
export function takeToken(): boolean {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return false;
  const state = ofWindow.get(stateKey);
  ofWindow.remove(stateKey);
  if (site.signIn !== "token" || !state || new URLSearchParams(location.search).get("state") !== state)
    return false;
  signInWith(token);
  return true;
}

/** Where to go after signing in: a path of this site, whatever the address says. */
export function wayBack(search: string): string {
  const to = new URLSearchParams(search).get("to") ?? "/";
  const url = URL.canParse(to, location.origin) ? new URL(to, location.origin) : undefined;
  return url?.origin === location.origin && /^\/(?!\/|signin$)/.test(url.pathname)
    ? url.pathname + url.search
    : "/";
}
