import { type CombinedError, Provider, useClient, useQuery } from "@urql/preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { connect, isFull } from "./data/client";
import { Start } from "./data/gql";
import { isUnanswered } from "./data/mutations";
import { type Page, PageContext, usePage } from "./data/page";
import {
  announce,
  announced,
  hasCookie,
  isAnonymous,
  isSame,
  onUserChange,
  readSession,
  rememberMethod,
  signOut,
} from "./data/session";
import { Failed } from "./pages/failed";
import { Footer, Header } from "./pages/frame";
import { GroupPage, HomePage, UserPage } from "./pages/lists";
import { type Later, load, useLater, useRepeat } from "./pages/load";
import { useTitle } from "./ui/hooks";
import { feeds, followLinks, type LaterRoute, parse, useVisit } from "./ui/router";
import { Missing, Skeleton, Unloaded } from "./ui/states";
import { texts } from "./ui/strings";

const messageTime = 10_000; // milliseconds
const storeWait = 5000; // milliseconds

interface Message {
  text: string;
  undo?(): void;
}

export function App() {
  const [session, setSession] = useState(readSession);
  const [online, setOnline] = useState(true);
  const [connections, setConnections] = useState(0);
  const [message, setMessage] = useState<Message>({ text: "" });
  const [away, setAway] = useState(false);

  const say = useCallback((text: string, undo?: () => void) => setMessage({ text, undo }), []);
  const refresh = useCallback(
    (isOther?: boolean) =>
      setSession((before) => (!isOther && isSame(before, readSession()) ? before : readSession())),
    [],
  );
  useEffect(() => {
    const timer = setTimeout(() => say(""), messageTime);
    return () => clearTimeout(timer);
  }, [message]);

  // Whether the server reaches its store. Once it does again, the page reads what it shows.
  const lookForStore = useCallback(async () => {
    const response = await fetch("/readyz").catch(() => undefined);
    setAway(response?.status === 503);
  }, []);
  useEffect(() => {
    if (!away) return;
    const timer = setInterval(lookForStore, storeWait);
    return () => {
      clearInterval(timer);
      setConnections((count) => count + 1);
    };
  }, [away]);

  const connection = useMemo(
    () =>
      connect(session, {
        connected() {
          setOnline(true);
          setConnections((count) => count + 1);
        },
        closed: () => setOnline(false),
        unavailable: lookForStore,
        refused() {
          // The credentials may have been replaced in the meantime.
          if (isSame(session, readSession())) {
            if (isAnonymous(session) && !hasCookie()) return;
            signOut();
            say(texts.signedOut);
          }
          // It may be the same, without its cookie.
          setSession((now) => (now === session ? readSession() : now));
        },
      }),
    [session],
  );
  useEffect(() => connection.end, [connection]);

  return (
    <Provider value={connection.client}>
      <Shell {...{ online, away, connections, message, refresh, say }} />
    </Provider>
  );
}

interface ShellProps {
  online: boolean;
  away: boolean;
  connections: number;
  message: Message;
  /** Reads the session again; also if only its cookie is another one. */
  refresh(isOther?: boolean): void;
  say(message: string, undo?: () => void): void;
}

// Pages whose own query does not tell what the frame shows.
const withoutFrame = [
  "submit",
  "search",
  "signin",
  "missing",
  "votes",
  "mod",
  "reports",
  "notice",
  "saved",
  "following",
];

function Shell({ online, away, connections, message, refresh, say }: ShellProps) {
  const visit = useVisit();
  const [unanswered] = useState(isUnanswered);
  const kind = parse(visit.path).page;
  const asks = unanswered || withoutFrame.includes(kind);
  const [{ data, error }, execute] = useQuery({
    query: Start,
    variables: {},
    requestPolicy: asks ? "cache-first" : "cache-only",
  });
  const retry = () => execute({ requestPolicy: "network-only" });
  const site = data?.site;
  const viewer = data?.viewer?.name;
  useEffect(() => {
    if (error || (viewer && hasCookie())) retry();
  }, [connections]);
  useEffect(() => {
    if (!site) return;
    rememberMethod(site);
    refresh();
  }, [site?.signIn]);
  const client = useClient();
  const before = useRef({ client, viewer });
  useEffect(() => {
    const was = before.current;
    before.current = { client, viewer };
    // A cookie may end while the window has no connection: the next one is not refused, but that of a visitor.
    if (hasCookie() && was.client === client && was.viewer && !viewer && announced() === was.viewer) {
      say(texts.signedOut);
      refresh(true);
    }
    if (data) announce(viewer);
    return onUserChange(async () => {
      refresh();
      const now = await client.query(Start, {}, { requestPolicy: "network-only" }).toPromise();
      if (now.data && now.data.viewer?.name !== viewer) refresh(true);
    });
  }, [client, !data, viewer]);
  const identify = async () => {
    if (site) return { site, viewer };
    const now = await client.query(Start, {}, { requestPolicy: "network-only" }).toPromise();
    return { site: now.data?.site, viewer: now.data?.viewer?.name, error: now.error };
  };
  const moderates = data?.viewer?.isModerator;
  const [tools, setTools] = useState<Pick<Page, "tools">>();
  useEffect(() => {
    if (moderates)
      import("./pages/reporting").then((script) => script.start(client, setTools), console.error);
  }, [moderates, client]);
  const page = useMemo(
    () => ({ site, viewer, moderates, identify, connections, refresh, load, say, ...(moderates && tools) }),
    [site, viewer, client, connections, tools],
  );
  const [later, setLater] = useState<Later>();
  // The first key loads their script, and acts then.
  useEffect(() => {
    if (later) return;
    const early: KeyboardEvent[] = [];
    const keep = (event: KeyboardEvent) => {
      early.push(event);
      load().then(setLater, () => {});
    };
    addEventListener("keydown", keep);
    return () => {
      removeEventListener("keydown", keep);
      setTimeout(() => {
        for (const event of early)
          (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", event));
      });
    };
  }, [later]);
  const repeated = useRepeat(viewer, say);
  const checking = !data && !error;
  const waiting = !repeated && (checking || viewer !== undefined);
  const main = useRef<HTMLElement>(null);
  const first = useRef(visit.key);

  // Screen readers announce the new page: the focus moves to the start of the content, as after a page load.
  useLayoutEffect(() => {
    if (visit.key === first.current) return;
    first.current = "";
    document.querySelector("link[rel=canonical]")?.remove();
    for (const link of document.querySelectorAll<HTMLLinkElement>("link[rel=alternate]"))
      link.href = feeds(visit.path) + link.href.slice(link.href.lastIndexOf("/"));
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    // Who types into the field of the search stays there.
    if (visit.arrival === "new" && document.activeElement?.id !== "find") scrollTo(0, 0);
  }, [visit]);

  return (
    <PageContext.Provider value={page}>
      {/* biome-ignore lint/a11y: the handler only serves links, which mouse and keyboard reach by themselves */}
      <div onClick={(event) => isFull() || followLinks(event)}>
        <a class="skip" href="#main">
          {texts.skip}
        </a>
        <Header path={visit.path} checking={checking} />
        <p class="offline" role="status">
          {!online ? texts.noConnection : away && texts.noStore}
        </p>
        <main id="main" class="shell" ref={main} tabIndex={-1}>
          {waiting ? (
            <Skeleton />
          ) : (
            <Content key={kind === "search" ? kind : visit.key} {...{ error, retry }} />
          )}
        </main>
        <Footer />
        {later && <later.Keyboard />}
        <p class="message" role="status">
          {message.text}
          {message.undo && (
            <button type="button" onClick={message.undo}>
              {texts.undo}
            </button>
          )}
        </p>
      </div>
    </PageContext.Provider>
  );
}

/** The content of a page. `error` says why what the frame shows could not be read. */
function Content({ error, retry }: { error?: CombinedError; retry(): void }) {
  const { site } = usePage();
  const visit = useVisit();
  const route = parse(visit.path);
  switch (route.page) {
    case "list":
      return route.group ? (
        <GroupPage name={route.group} order={route.order} />
      ) : (
        <HomePage order={route.order} />
      );
    case "user":
      return <UserPage name={route.name} />;
    case "signin":
      if (site) return <LaterPage route={route} />;
      return error ? <Failed level={1} error={error} retry={retry} /> : <Skeleton rows={2} />;
    case "missing":
      return <MissingPage />;
    default:
      return <LaterPage route={route} />;
  }
}

/** A page of the second script. */
function LaterPage({ route }: { route: LaterRoute }) {
  const { later, failed } = useLater();
  if (later) return <later.Page route={route} />;
  return failed ? <Unloaded /> : <Skeleton />;
}

function MissingPage() {
  useTitle(texts.pageMissing);
  return <Missing level={1} />;
}
