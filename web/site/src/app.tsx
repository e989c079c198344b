import { Provider, useQuery } from "@urql/preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ArticlePage } from "./article";
import { connect } from "./client";
import { Footer, Header } from "./frame";
import { Viewer } from "./gql";
import { GroupsPage } from "./groups";
import { Keyboard } from "./keyboard";
import { GroupPage, HomePage, UserPage } from "./lists";
import { PageContext } from "./page";
import { followLinks, parse, useVisit } from "./router";
import { onTokenChange, readSession, signOut } from "./session";
import { SignInPage } from "./signin";
import { site } from "./site";
import { Empty } from "./states";
import { SubmitPage } from "./submit";

const messageTime = 6000; // milliseconds

export function App() {
  const [session, setSession] = useState(readSession);
  const [online, setOnline] = useState(true);
  const [connections, setConnections] = useState(0);
  const [message, say] = useState("");

  const refresh = useCallback(() => setSession(readSession()), []);
  useEffect(() => onTokenChange(refresh), []);
  useEffect(() => {
    const timer = setTimeout(() => say(""), messageTime);
    return () => clearTimeout(timer);
  }, [message]);

  const current = useRef({});
  const connection = useMemo(() => {
    const mine = {};
    current.current = mine;
    const ifCurrent = (then: () => void) => () => {
      if (current.current === mine) then();
    };
    return connect(session, {
      connected: ifCurrent(() => {
        setOnline(true);
        setConnections((count) => count + 1);
      }),
      closed: ifCurrent(() => setOnline(false)),
      refused: ifCurrent(() => {
        if (Object.keys(session.credentials).length === 0) return;
        signOut();
        refresh();
        say("You have been signed out: please sign in again.");
      }),
    });
  }, [session]);
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
  message: string;
  refresh(): void;
  say(message: string): void;
}

function Shell({ name, online, connections, message, refresh, say }: ShellProps) {
  const [{ data, fetching }] = useQuery({ query: Viewer, variables: {}, pause: site.signIn === "name" });
  const viewer = name ?? data?.viewer?.name;
  const page = useMemo(() => ({ viewer, online, connections, refresh, say }), [viewer, online, connections]);
  const visit = useVisit();
  const main = useRef<HTMLElement>(null);
  const first = useRef(visit.key);

  // Those who do not see the page change hear of it: the focus goes where a loaded page has it.
  useLayoutEffect(() => {
    if (visit.key === first.current) return;
    first.current = "";
    main.current?.focus({ preventScroll: true });
    if (visit.came === "new") scrollTo(0, 0);
  }, [visit]);

  return (
    <PageContext.Provider value={page}>
      {/* biome-ignore lint/a11y: the links themselves are what is used, by mouse or keys */}
      <div onClick={followLinks}>
        <a class="skip" href="#main">
          Skip to the articles
        </a>
        <Header path={visit.path} asking={fetching} />
        {!online && (
          <p class="offline" role="status">
            Offline. What you see may be old; it will be brought up to date.
          </p>
        )}
        <main id="main" class="shell" ref={main} tabIndex={-1}>
          <Content key={visit.key} />
        </main>
        <Footer />
        <Keyboard />
        <p class="message" role="status">
          {message}
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
      return (
        <Empty title="There is nothing here">
          <p>
            The address may be mistyped. <a href="/">Go to the front page</a>.
          </p>
        </Empty>
      );
  }
}
