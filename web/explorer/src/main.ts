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
import { fetcher } from "./fetcher";

/** Asks how users sign in: "name", "token" or "proxy". Without an answer, nothing is assumed. */
async function askSignIn(): Promise<string> {
  const request = { query: "{ site { signIn } }" };
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("/query", { method: "POST", headers, body: JSON.stringify(request) });
  const { data } = (await response.json()) as { data?: { site: { signIn: string } } };
  return data?.site.signIn.toLowerCase() ?? "";
}
const signIn = await askSignIn().catch(() => "");

const headers: Record<string, string> = {
  name: '{"X-User-ID": "alice"}',
  // An invalid token would be rejected, even for the introspection query, so this is a comment until the user
  // fills it in.
  token: '{\n  // "Authorization": "Bearer TOKEN"\n}',
};

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
      fetcher,
      defaultTabs: examples,
      defaultHeaders: headers[signIn],
      defaultEditorToolsVisibility: signIn in headers ? "headers" : "variables",
      // Tabs are stored in the browser, with their headers only if these are names. Secret headers are not
      // stored: any script of this origin, and any user of this computer, could read them. The history
      // always stores headers, so it is disabled then.
      shouldPersistHeaders: signIn === "name",
      plugins: signIn === "name" ? [HISTORY_PLUGIN] : [],
      // Separate storage per sign-in method, so that a reconfigured server is not sent stale headers.
      storage: createLocalStorage({ namespace: `explorer-${signIn}` }),
    },
    createElement(
      GraphiQL.Logo,
      null,
      createElement("a", { className: "graphiql-logo-link", href: "/" }, "← Frontpage"),
    ),
    createElement(FollowSystem),
  ),
);
