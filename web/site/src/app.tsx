import { Provider, useClient, useQuery } from "@urql/preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ArticlePage } from "./article";
import { connect } from "./client";
import { Footer, Header } from "./frame";
import { Viewer } from "./gql";
import { GroupsPage } from "./groups";
import { Keyboard } from "./keyboard";
import { GroupPage, HomePage, UserPage } from "./lists";
import { useRepeat } from "./mutations";
import { PageContext, useTitle } from "./page";
import { followLinks, parse, useVisit } from "./router";
import { isAnonymous, isSame, onTokenChange, readSession, signOut } from "./session";
import { SignInPage } from "./signin";
import { site } from "./site";
import { Missing, Skeleton } from "./states";
import { SubmitPage } from "./submit";

const messageTime = 6000; // milliseconds

export function App() {
  const [session, setSession] = useState(readSession);
  const [online, setOnline] = useState(true);
  const [connections, setConnections] = useState(0);
  const [message, setMessage] = useState({ text: "" });

  const say = useCallback((text: string) => setMessage({ text }), []);
  const refresh = useCallback(() => setSession(readSession()), []);
  useEffect(() => onTokenChange(refresh), []);
  useEffect(() => {
    const timer = setTimeout(() => say(""), messageTime);
    return () => clearTimeout(timer);
  }, [message]);

  const connection = useMemo(
    () =>
      connect(session, {
        connected() {
          setOnline(true);
          setConnections((count) => count + 1);
        },
        closed: () => setOnline(false),
        refused() {
          // The credentials may have been replaced in the meantime.
          if (isSame(session, readSession())) {
            if (isAnonymous(session)) return;
            signOut();
            say("You have been signed out. Please sign in again.");
          }
          refresh();
        },
      }),
    [session],
  );
  useEffect(() => connection.end, [connection]);

  return (
    <Provider value={connection.client}>
      <Shell {...{ name: session.name, online, connections, message, refresh, say }} />
    </Provider>
  );
}

interface ShellProps {
  name?: string;
  online: boolean;
  connections: number;
  message: { text: string };
  refresh(): void;
  say(message: string): void;
}

function Shell({ name, online, connections, message, refresh, say }: ShellProps) {
  const [{ data, error, fetching }, execute] = useQuery({
    query: Viewer,
    variables: {},
    pause: site.signIn === "name",
  });
  const viewer = name ?? data?.viewer?.name;
  useEffect(() => {
    if (error) execute({ requestPolicy: "network-only" });
  }, [connections]);
  const client = useClient();
  const identify = async () => {
    if (site.signIn === "name" || (data && !fetching)) return { viewer };
    const now = await client.query(Viewer, {}, { requestPolicy: "network-only" }).toPromise();
    return { viewer: now.data?.viewer?.name, error: now.error };
  };
  const page = useMemo(
    () => ({ viewer, identify, connections, refresh, say }),
    [viewer, data, fetching, client, connections],
  );
  const repeated = useRepeat(viewer, say);
  const waiting = !repeated && (fetching || viewer !== undefined);
  const visit = useVisit();
  const main = useRef<HTMLElement>(null);
  const first = useRef(visit.key);

  // Screen readers announce the new page: the focus moves to the start of the content, as after a page load.
  useLayoutEffect(() => {
    if (visit.key === first.current) return;
    first.current = "";
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    if (visit.arrival === "new") scrollTo(0, 0);
  }, [visit]);

  return (
    <PageContext.Provider value={page}>
      {/* biome-ignore lint/a11y: the handler only serves links, which mouse and keyboard reach by themselves */}
      <div onClick={followLinks}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <Header path={visit.path} checking={fetching} />
        <p class="offline" role="status">
          {!online &&
            "No connection to the server. This page may be out of date until the connection is back."}
        </p>
        <main id="main" class="shell" ref={main} tabIndex={-1}>
          {waiting ? <Skeleton /> : <Content key={visit.key} />}
        </main>
        <Footer />
        <Keyboard />
        <p class="message" role="status">
          {message.text}
        </p>
      </div>
    </PageContext.Provider>
  );
}

function Content() {
  const visit = useVisit();
  const route = parse(visit.path);
  switch (route.page) {
    case "list":
      return route.group ? (
        <GroupPage name={route.group} order={route.order} />
      ) : (
        <HomePage order={route.order} />
      );
    case "groups":
      return <GroupsPage />;
    case "article":
      return <ArticlePage id={route.id} />;
    case "user":
      return <UserPage name={route.name} />;
    case "submit":
      return <SubmitPage />;
    case "signin":
      return <SignInPage />;
    case "missing":
      return <MissingPage />;
  }
}

function MissingPage() {
  useTitle("Page not found");
  return <Missing level={1} />;
}
