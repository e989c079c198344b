import { cacheExchange } from "@urql/exchange-graphcache";
import {
  type AnyVariables,
  Client,
  createRequest,
  type DocumentInput,
  type Exchange,
  type GraphQLRequest,
  makeResult,
  mapExchange,
  type Operation,
  subscriptionExchange,
} from "@urql/preact";
import { createClient } from "graphql-ws";
import { filter, map, merge } from "wonka";
import { advance } from "../../../../../clients/js/src/live";
import { type Tally as Counted, move, reconcile, type State, see } from "../../../../../clients/js/src/rule";
import type { Saved } from "../ui/router";
import { Start } from "./gql";
import { sentence, signedOut, unknownKey } from "./problem";
import { worth } from "./rank";
import { isAnonymous, type Session } from "./session";

/** Events of the live connection. None fires after `end`. */
export interface Events {
  /** The connection is open. After a reconnection, the page may be out of date. */
  connected(): void;
  closed(): void;
  /** The server rejected the credentials. */
  refused(): void;
  /** The server is busy, or cannot reach its store. */
  unavailable(): void;
}

const endpoint = "/query";
const pongTimeout = 5000; // milliseconds
const retryWait = 5000; // milliseconds
const together = 250; // milliseconds

/** What the first client need not ask for, until it has it: the answer that the page was rendered of, or several. */
let known: (GraphQLRequest & { data: object })[] = [];

/** What the server adds to a page that it rendered. */
export interface Rendered {
  /** As the page would have sent it. */
  request: { operationName: string; query: string; variables: Record<string, unknown> };
  data?: object;
  /** Whether the second script shows it. */
  later?: boolean;
  /** Who deleted the article of the page, and when. */
  gone?: string;
}

/** What the server said of the deleted article whose page it rendered. */
export let gone: string | undefined;

/**
 * Reads the answer that the page was rendered of, so that the first client does not ask again. The server did not know
 * who asks if the credentials are not in a cookie: then the answer is read again, while what it rendered stays. It also
 * stays until all parts of a list are read that the visitor had left.
 */
export async function takeOver(
  { credentials }: Session,
  { parts, start }: Saved,
): Promise<Rendered | undefined> {
  const text = document.getElementById("answer")?.textContent;
  if (!text) return;
  const rendered = JSON.parse(text) as Rendered;
  const { request } = rendered;
  gone = rendered.gone;
  // If the server has rendered nothing for browsers with scripts, nothing has to stay.
  if (document.querySelector("main > noscript") && !isAnonymous({ credentials })) return rendered;
  let { variables } = request;
  if (parts) variables = { ...variables, after: start || null };
  for (let left = parts ?? 1; left; left--) {
    const isRendered = variables.after === request.variables.after && isAnonymous({ credentials });
    const data = isRendered
      ? rendered.data
      : (await send(credentials, { ...request, variables }).catch((): Answer => ({}))).data;
    if (!data) break;
    rendered.data = data;
    known.push({ ...createRequest(request.query, variables), data });
    variables = { ...variables, after: endOf(data) };
    if (!variables.after) break;
  }
  return rendered;
}

/** Returns the cursor after the articles of an answer, if there are more. */
function endOf(data: object): string | undefined {
  const { hasNextPage, endCursor } = data as { hasNextPage?: boolean; endCursor?: string };
  if (hasNextPage) return endCursor;
  for (const part of Object.values(data)) {
    const end = part instanceof Object && endOf(part);
    if (end) return end;
  }
}

/** The types that have no ids: the cache stores them in those that refer to them. Only in development, it warns of others. */
const keys = import.meta.env.DEV
  ? Object.fromEntries(
      [
        "ArticleConnection",
        "RankedConnection",
        "SearchConnection",
        "SearchEdge",
        "RankedEdge",
        "CastVoteConnection",
        "CastVoteEdge",
        "FrontPage",
        "FrontPageEdge",
        "BestRank",
        "RankAt",
        "GroupConnection",
        "PageInfo",
        "PostedEdge",
        "Site",
        "SiteRules",
        "VotePayload",
        "PostPayload",
        "EditArticlePayload",
        "DeleteArticlePayload",
        "RestoreArticlePayload",
        "Removal",
        "DeletedConnection",
        "DeletedEdge",
        "ModerationConnection",
        "FlaggedConnection",
        "FlaggedItem",
        "FlaggedChange",
        "ReportConnection",
        "Notice",
        "NoticePayload",
        "RegroupPayload",
        "DenyUserPayload",
        "Denial",
        "NoticeContact",
        "FlagPayload",
        "SettleFlagsPayload",
        "BasicUserError",
        "DuplicateLinkError",
        "RateLimitedError",
      ].map((type) => [type, () => null]),
    )
  : undefined;

// The cache keeps all that a window has read. So after this many answers the next page is loaded by the browser.
const maxResults = 300;
let results = 0;
export const isFull = () => results > maxResults;

type Tally = Counted & { score: number };
type Articles = Map<string, State>;

/** A normalized cache: each article is stored once, so that any result updates it everywhere. */
const cache = (articles: Articles) =>
  cacheExchange({
    keys,
    optimistic: {
      vote({ input }, cache) {
        const { article: id, direction } = input as { article: string; direction: "UP" | "DOWN" | "NONE" };
        const entity = { __typename: "Article", id };
        const before = articles.get(id)?.base as Tally | undefined;
        const rules = cache.readQuery({ query: Start })?.site.rules;
        let article: (Tally & typeof entity) | null = null;
        if (before && rules) {
          article = { ...entity, ...move(before, direction) };
          article.score += worth(article.votes, rules) - worth(before.votes, rules);
        }
        return { __typename: "VotePayload", article, userErrors: [] };
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

/** Connects to the server with the credentials of a session. `end` closes the connection. */
export function connect(session: Session, events: Events): { client: Client; end: () => void } {
  const ended = new AbortController();
  const articles: Articles = new Map();
  let connections = 0;
  /** Puts the newest counts that the page has into a result. After a connection, lower revisions are those of a restored site. */
  const newest = <R>(result: R) => {
    reconcile(result, (id, tally) => {
      const state = see(articles.get(id) ?? { base: tally, epoch: connections }, tally, connections);
      articles.set(id, state);
      return state.base;
    });
    return result;
  };
  const collect = collector();
  let pong: ReturnType<typeof setTimeout> | undefined;
  // What the page was rendered of needs not be read again once the page is connected.
  let upToDate = known.length > 0;
  const notify = (event: keyof Events) => {
    if (!ended.signal.aborted) events[event]();
  };
  const socket = createClient({
    url: `${location.origin.replace(/^http/, "ws")}${endpoint}`,
    // A closing socket drops what is sent, and browsers log that as an error. graphql-ws answers pings on it, too.
    webSocketImpl: class extends WebSocket {
      override send(data: string) {
        if (this.readyState === WebSocket.OPEN) super.send(data);
      }
    },
    connectionParams: session.credentials,
    lazy: false,
    keepAlive: 12_000,
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: () => true,
    retryWait: (failures) => untilOnline(failures, ended.signal),
    onNonLazyError: () => {},
    on: {
      connected() {
        connections++;
        if (!upToDate) notify("connected");
        upToDate = false;
      },
      closed(event) {
        upToDate = false;
        clearTimeout(pong);
        const { code, reason } = event as CloseEvent;
        if (code === 4403 && !reason.startsWith(unknownKey)) notify("refused");
        notify("closed");
      },
      ping(received) {
        if (!received) pong = setTimeout(() => socket.terminate(), pongTimeout);
      },
      pong(received) {
        if (received) clearTimeout(pong);
      },
    },
  });
  // Browsers do not keep a page with an open socket in the back/forward cache, and a socket takes a while to
  // detect that the browser is offline.
  const interrupt = () => socket.terminate();
  addEventListener("pagehide", interrupt, { signal: ended.signal });
  addEventListener("offline", interrupt, { signal: ended.signal });

  // Answers the first queries with what is known.
  const first = known;
  known = [];
  const answer = ({ key }: Operation) => first.find((request) => request.key === key)?.data;
  const answers: Exchange =
    ({ forward }) =>
    (operations) =>
      merge([
        forward(filter<Operation>((operation) => !answer(operation))(operations)),
        map((operation: Operation) => makeResult(operation, { data: newest(answer(operation)) }))(
          filter<Operation>((operation) => answer(operation) !== undefined)(operations),
        ),
      ]);
  const client = new Client({
    url: endpoint,
    exchanges: [
      mapExchange({
        onResult({ operation }) {
          if (operation.kind === "query") results++;
        },
        onError({ graphQLErrors: [first] }) {
          if (first?.extensions.code === "UNAVAILABLE") notify("unavailable");
          if (first?.extensions.code === signedOut) notify("refused");
        },
      }),
      cache(articles),
      answers,
      subscriptionExchange({
        enableAllOperations: true,
        forwardSubscription: (request, { key, kind, context }) => ({
          subscribe(sink) {
            if (kind === "subscription") {
              const payload = { query: request.query ?? "", variables: { ...request.variables } };
              const next = (result: object) => {
                advance(payload.variables, result);
                const pass = () => sink.next(newest(result) as never);
                const article = articleOf(result);
                if (article) collect(`${key} ${article}`, pass);
                else pass();
              };
              return { unsubscribe: socket.subscribe(payload, { ...sink, next }) };
            }
            const unwanted = new AbortController();
            send(session.credentials, request, context.fetch, unwanted.signal)
              .then((answer) => {
                sink.next(newest(answer));
                sink.complete();
              })
              .catch((failure) => sink.error(failure));
            return { unsubscribe: () => unwanted.abort() };
          },
        }),
      }),
    ],
  });
  for (const request of first)
    client
      .executeQuery(request)
      .subscribe(() => {})
      .unsubscribe();
  first.length = 0;
  return {
    client,
    end() {
      ended.abort();
      clearTimeout(pong);
      // Fails if the server closes the connection first. It is closed in both cases.
      Promise.resolve(socket.dispose()).catch(() => {});
    },
  };
}

interface Answer {
  data?: never;
  errors?: { message: string; extensions?: { code?: string } }[];
}

/** Sends a query or mutation. An answer that is no GraphQL becomes an error, and so do rejected credentials. */
async function send(
  credentials: Session["credentials"],
  request: object,
  by = fetch,
  signal?: AbortSignal,
): Promise<Answer> {
  const headers = {
    ...utf8Headers(credentials),
    Accept: "application/graphql-response+json",
    "Content-Type": "application/json",
  };
  const response = await by(endpoint, { method: "POST", headers, body: JSON.stringify(request), signal });
  const { data, errors = data ? undefined : [{ message: response.statusText }] }: Answer =
    (await response.json().catch(() => null)) ?? {};
  const first = errors?.[0];
  if (first && response.status === 401 && first.extensions?.code !== unknownKey)
    first.extensions = { code: signedOut };
  return { data, errors };
}

/** Returns why the server rejects credentials; nothing if it does not, or cannot tell now. */
export async function rejection(credentials: Session["credentials"]): Promise<string | undefined> {
  const { errors: [first] = [] } = await send(credentials, { query: Start }).catch((): Answer => ({}));
  if (first?.extensions?.code === signedOut) return sentence(first.message);
}

/** The article of an event, if it is about one. */
const articleOf = ({ data }: { data?: { articleChanged?: { id: string } } }) => data?.articleChanged?.id;

/**
 * Collects events for a moment and passes them on together: the page is then drawn once. Of several events about one
 * article only the last one matters.
 */
function collector() {
  const waiting = new Map<string, () => void>();
  return (about: string, event: () => void) => {
    if (waiting.size === 0)
      setTimeout(() => {
        const events = [...waiting.values()];
        waiting.clear();
        for (const event of events) event();
      }, together);
    waiting.set(about, event);
  };
}

/** Encodes header values as UTF-8: fetch takes one character per byte, and names may have any letters. */
function utf8Headers(headers: Record<string, string>): Record<string, string> {
  const bytes = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, bytes(value)]));
}

/** Waits longer after each failure, up to about 8 s, or until the browser is online again; for ever after the end. */
function untilOnline(failures: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ended.aborted) return;
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(500 * 2 ** failures, 8000) * (0.75 + Math.random() / 2));
    addEventListener("online", done, { signal: ended });
    ended.addEventListener("abort", () => clearTimeout(timer));
  });
}

export interface Reader {
  read(): void;
  stop(): void;
}

/**
 * Repeats a query on demand. One request runs at a time, and is retried until it succeeds. A call of
 * `read` during a request causes one more request after it.
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
