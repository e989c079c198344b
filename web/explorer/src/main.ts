import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { createLocalStorage } from "@graphiql/toolkit";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import "graphiql/setup-workers/vite";
// What graphiql/style.css has, but for a second copy of the style of the editor,
// which loads its own.
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

// The server writes into the page how people sign in.
const settings: { signIn?: string } = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="frontpage"]')?.content || "{}",
);
const signIn = settings.signIn ?? "name";

const headers: Record<string, string> = {
  name: '{"X-User-ID": "alice"}',
  // A token that is not valid is refused, and with it the question for the schema:
  // so this is a comment until there is one.
  token: '{\n  // "Authorization": "Bearer TOKEN"\n}',
};

// GraphiQL asks the system for light or dark only once for its editors, and goes
// with its changes for all else.
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
      // Tabs stay in the browser, and names with them. Headers that may be secret do
      // not: every script of this origin, and everybody at this machine, could read
      // them there. The history always keeps headers, so there is none then.
      shouldPersistHeaders: signIn === "name",
      plugins: signIn === "name" ? [HISTORY_PLUGIN] : [],
      // A server whose way of signing in was changed is not sent the old headers.
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
