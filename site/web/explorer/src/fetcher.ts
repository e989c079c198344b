import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { getOperationAST } from "graphql";
import { createClient, type ExecutionResult, type Sink } from "graphql-ws";

const url = "/query";
const socket = location.origin.replace(/^http/, "ws") + url;
const execute = createGraphiQLFetcher({ url, enableIncrementalDelivery: false }); // the server has no @defer
const maxEvents = 100; // that the response of a subscription keeps

// The response has all events, the newest first. A connection has one user, so each subscription gets its own connection, with the headers of its tab in the
// payload of connection_init. There are no retries: they would delay showing why the connection failed.
const subscribe: Fetcher = (params, options) => ({
  subscribe(observer: unknown) {
    const { next, error, complete } = observer as Sink<object>;
    const events: object[] = [];
    const add = (event: ExecutionResult) => {
      events.unshift({ at: new Date().toISOString(), ...event });
      events.length = Math.min(events.length, maxEvents);
      next({ events });
    };
    const client = createClient({ url: socket, connectionParams: options?.headers, retryAttempts: 0 });
    const unsubscribe = client.subscribe(params, {
      next: add,
      error: (reason) => error(reason instanceof CloseEvent ? connectionError(reason) : reason),
      complete,
    });
    return { unsubscribe };
  },
});

const connectionError = ({ code, reason }: CloseEvent) => ({
  message: `Connection closed: ${reason || "no reason given"} (${code})`,
});

/** Encodes the values of headers as UTF-8: fetch takes one character per byte, and names may have any letters. */
export const inBytes = (headers: Record<string, string> = {}) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      String.fromCharCode(...new TextEncoder().encode(`${value}`)),
    ]),
  );

/**
 * Sends an operation to the server, with the headers of its tab. Unless these say who sends it, that is the user of the site:
 * `credentials` are those that are not in a cookie.
 */
export const fetcherOf =
  (credentials: Record<string, string>): Fetcher =>
  (params, options) => {
    const own = Object.keys(options?.headers ?? {}).some((name) => /^(authorization|x-user-id)$/i.test(name));
    const sent = own ? options : { ...options, headers: { ...credentials, ...options?.headers } };
    const operation = sent?.documentAST && getOperationAST(sent.documentAST, params.operationName);
    if (operation?.operation === "subscription") return subscribe(params, sent);
    return execute(params, { ...sent, headers: inBytes(sent?.headers) });
  };
