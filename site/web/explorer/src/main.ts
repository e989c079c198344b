import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { createLocalStorage } from "@graphiql/toolkit";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import "graphiql/setup-workers/vite";
// The parts of graphiql/style.css, without its second copy of the editor's styles: the editor loads its own.
import "@graphiql/react/font/roboto.css";
import "@graphiql/react/font/fira-code.css";
import "@graphiql/react/style.css";
import "@graphiql/plugin-history/style.css";
import "@graphiql/plugin-doc-explorer/style.css";
import "graphiql/graphiql.css";
import "./page.css";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { examples } from "./examples";
import { fetcherOf, inBytes } from "./fetcher";

interface Caller {
  /** How users sign in: "name", "token", "proxy" or "session". Empty without an answer: nothing is assumed. */
  signIn: string;
  viewer?: string;
}

/** Asks who a request with these headers comes from. */
async function ask(credentials: Record<string, string>): Promise<Caller> {
  const request = { query: "{ site { signIn } viewer { name } }" };
  const headers = { "Content-Type": "application/json", ...inBytes(credentials) };
  const response = await fetch("/query", { method: "POST", headers, body: JSON.stringify(request) });
  const { data } = (await response.json()) as {
    data?: { site: { signIn: string }; viewer?: { name: string } };
  };
  return { signIn: data?.site.signIn.toLowerCase() ?? "", viewer: data?.viewer?.name };
}

/** What the site has stored about its user, see site/src/data/session.ts. */
function stored(key: string, ofWindow?: boolean): string {
  try {
    return (ofWindow ? sessionStorage.getItem(key) : null) ?? localStorage.getItem(key) ?? "";
  } catch {
    return ""; // storage is disabled
  }
}

const anonymous = await ask({}).catch((): Caller => ({ signIn: "" }));
const { signIn } = anonymous;
const name = stored("frontpage.name", true);
const token = stored("frontpage.token");
let credentials: Record<string, string> = {};
if (signIn === "name" && name) credentials = { "X-User-ID": name };
if (signIn === "token" && token) credentials = { Authorization: `Bearer ${token}` };
const hasCredentials = Object.keys(credentials).length > 0;
const user = hasCredentials ? await ask(credentials).catch((): Caller => anonymous) : anonymous;
if (hasCredentials && !user.viewer) credentials = {}; // an expired token would be rejected, even for introspection

const asUser = `{
  // Requests are those of ${user.viewer}, who is signed in on the site, unless a header names another user:
`;
const headersOfAnonymous: Record<string, string> = {
  name: '{"X-User-ID": "alice"}',
  // An invalid token would be rejected, even for the introspection query, so this is a comment until the user
  // fills it in.
  token: '{\n  // "Authorization": "Bearer TOKEN"\n}',
};
const headersOfUser: Record<string, string> = {
  name: `${asUser}  // "X-User-ID": "alice"\n}`,
  token: `${asUser}  // "Authorization": "Bearer TOKEN"\n}`,
};
const headers = user.viewer ? headersOfUser : headersOfAnonymous;

const namespace = `explorer-${signIn}`;
/** Replaces the default headers in the tabs that the browser keeps, if another user was signed in on the site then. */
function renewDefault(now: string): void {
  const before = stored(`${namespace}:default`);
  const inText = (text: string) => JSON.stringify(text).slice(1, -1);
  for (const key of before && before !== now ? ["graphiql:tabState", "graphiql:headers"] : []) {
    const text = stored(`${namespace}:${key}`);
    const renewed = text === before ? now : text.replaceAll(inText(before), inText(now));
    if (text) localStorage.setItem(`${namespace}:${key}`, renewed);
  }
  localStorage.setItem(`${namespace}:default`, now);
}
if (signIn === "name") {
  try {
    renewDefault(headers.name ?? "");
  } catch {
    // Storage is disabled: there are no tabs either.
  }
}

// GraphiQL follows changes of the system's color scheme, except in its editors, which read it only once.
function FollowSystem() {
  const theme = useGraphiQL((state) => state.theme);
  const { setTheme } = useGraphiQLActions();
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setTheme(theme);
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, [theme, setTheme]);
  return null;
}

createRoot(document.getElementById("explorer") as HTMLElement).render(
  createElement(
    GraphiQL,
    {
      fetcher: fetcherOf(credentials),
      schemaDescription: true,
      inputValueDeprecation: true,
      defaultTabs: examples,
      defaultHeaders: headers[signIn],
      defaultEditorToolsVisibility: signIn in headers ? "headers" : "variables",
      // Tabs are stored in the browser, with their headers only if these are names. Secret headers are not
      // stored: any script of this origin, and any user of this computer, could read them. The history
      // always stores headers, so it is disabled then.
      shouldPersistHeaders: signIn === "name",
      plugins: signIn === "name" ? [HISTORY_PLUGIN] : [],
      // Separate storage per sign-in method, so that a reconfigured server is not sent stale headers.
      storage: createLocalStorage({ namespace }),
    },
    createElement(
      GraphiQL.Logo,
      null,
      createElement("a", { className: "back", href: "/" }, "← Frontpage"),
      createElement(
        "span",
        { className: "user" },
        user.viewer ? `Signed in as ${user.viewer}` : "Not signed in",
      ),
    ),
    createElement(FollowSystem),
  ),
);
