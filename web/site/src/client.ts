import { cacheExchange } from "@urql/exchange-graphcache";
import {
  type AnyVariables,
  Client,
  type DocumentInput,
  fetchExchange,
  gql,
  mapExchange,
  subscriptionExchange,
} from "@urql/preact";
import { createClient } from "graphql-ws";
import type { Session } from "./session";
import { site } from "./site";
import { count, type Tally } from "./tally";

/** What the connection for live updates does. Nothing is told of one that was ended. */
export interface Events {
  /** It stands: for the first time, or again, and then what was shown may be old. */
  connected(): void;
  closed(): void;
  /** The server does not take the credentials any more. */
  refused(): void;
}

const endpoint = "/query";
// The server does not have the key of a token yet, which takes it some seconds: the token stays.
const unknownKey = "TOKEN_KEY_UNKNOWN";
const pongTimeout = 5000; // milliseconds
const retryWait = 5000; // milliseconds

const tallied = gql`
  fragment Tallied on Article { id votes upvotes downvotes score viewerVote }
`;

const none = () => null;

/** One cache in which each article is once: whatever tells of it changes it everywhere. */
const cache = () =>
  cacheExchange({
    keys: {
      ArticleConnection: none,
      GroupConnection: none,
      PageInfo: none,
      VotePayload: none,
      PostPayload: none,
      DeleteArticlePayload: none,
      BasicUserError: none,
      DuplicateLinkError: none,
      RateLimitedError: none,
    },
    optimistic: {
      vote({ input }, cache) {
        const { article: id, direction } = input as { article: string; direction: "UP" | "DOWN" | "NONE" };
        const before = cache.readFragment<Tally>(tallied, { id } as never);
        return {
          __typename: "VotePayload",
          article: before && {
            __typename: "Article",
            ...before,
            ...count(before, direction, site.voteScore),
          },
          userErrors: [],
        };
      },
    },
    updates: {
      Mutation: {
        deleteArticle(result, _args, cache) {
          const { deletedId } = (result.deleteArticle ?? {}) as { deletedId?: string };
          if (deletedId) cache.invalidate({ __typename: "Article", id: deletedId });
        },
      },
    },
  });

/** Connects to the server as somebody. What is open ends with `end`. */
export function connect(session: Session, events: Events): { client: Client; end: () => void } {
  let ended = false;
  let pong: ReturnType<typeof setTimeout> | undefined;
  const tell = (event: keyof Events) => {
    if (!ended) events[event]();
  };
  const socket = createClient({
    url: `${location.origin.replace(/^http/, "ws")}${endpoint}`,
    connectionParams: session.credentials,
    lazy: false,
    keepAlive: 12_000,
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: () => true,
    retryWait: untilOnline,
    onNonLazyError: () => {},
    on: {
      connected: () => tell("connected"),
      closed(event) {
        clearTimeout(pong);
        const { code, reason } = event as CloseEvent;
        if (code === 4403 && !reason.startsWith(unknownKey)) tell("refused");
        tell("closed");
      },
      ping(received) {
        if (!received) pong = setTimeout(() => socket.terminate(), pongTimeout);
      },
      pong(received) {
        if (received) clearTimeout(pong);
      },
    },
  });
  // A page with an open socket is not kept for the way back, and one that is offline would
  // not notice for a while.
  const interrupt = () => socket.terminate();
  addEventListener("pagehide", interrupt);
  addEventListener("offline", interrupt);

  const client = new Client({
    url: endpoint,
    preferGetMethod: false,
    fetchOptions: { headers: inBytes(session.credentials) },
    exchanges: [
      mapExchange({
        onError({ response, graphQLErrors: [first] }) {
          if (response?.status === 401 && first?.extensions.code !== unknownKey) tell("refused");
        },
      }),
      cache(),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query: query ?? "", variables }, sink) }),
        }),
      }),
    ],
  });
  return {
    client,
    end() {
      ended = true;
      clearTimeout(pong);
      removeEventListener("pagehide", interrupt);
      removeEventListener("offline", interrupt);
      // It fails when the server closes the connection first: closed it is, either way.
      Promise.resolve(socket.dispose()).catch(() => {});
    },
  };
}

/** A header of fetch takes bytes, each as a character; a name may be of any letters, in UTF-8. */
function inBytes(headers: Record<string, string>): Record<string, string> {
  const bytes = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, bytes(value)]));
}

/** Waits longer after each failure, up to 8 s, or until the browser is online again. */
function untilOnline(failures: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(500 * 2 ** failures, 8000) * (0.75 + Math.random() / 2));
    addEventListener("online", done);
  });
}

export interface Reader {
  read(): void;
  stop(): void;
}

/**
 * Reads something anew whenever it is told to: one request at a time, which is repeated until
 * there is an answer, and once more when it was told to meanwhile.
 */
export function reader<Data, Variables extends AnyVariables>(
  client: Client,
  query: DocumentInput<Data, Variables>,
  variables: Variables,
  use?: (data: Data) => void,
): Reader {
  let reading = false;
  let again = false;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout>;
  const run = async () => {
    again = false;
    reading = true;
    const { data } = await client.query(query, variables, { requestPolicy: "network-only" }).toPromise();
    if (stopped) return;
    reading = !data;
    if (data) use?.(data);
    else timer = setTimeout(run, retryWait);
    if (data && again) void run();
  };
  return {
    read() {
      if (reading) again = true;
      else void run();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Sends changes one after another. Of two that are on their way together the later could
 * arrive first, and a vote that was taken back would stand.
 */
export const inTurn: typeof fetch = (input, init) => {
  const sent = last.then(() => {
    const signals = [AbortSignal.timeout(10_000), ...(init?.signal ? [init.signal] : [])];
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  });
  last = sent.catch(() => {});
  return sent;
};
