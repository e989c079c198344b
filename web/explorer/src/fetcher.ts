import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { getOperationAST } from "graphql";
import { createClient, type ExecutionResult, type Sink } from "graphql-ws";

const url = "/query";
const socket = location.origin.replace(/^http/, "ws") + url;
const execute = createGraphiQLFetcher({ url, enableIncrementalDelivery: false }); // the server has no @defer

// A connection has one user, so each subscription gets its own connection, with the headers of its tab in the
// payload of connection_init. There are no retries: they would delay showing why the connection failed.
const subscribe: Fetcher = (params, options) => ({
  subscribe(observer: unknown) {
    const { next, error, complete } = observer as Sink<ExecutionResult>;
    const client = createClient({ url: socket, connectionParams: options?.headers, retryAttempts: 0 });
    const unsubscribe = client.subscribe(params, {
      next,
      error: (reason) => error(reason instanceof CloseEvent ? connectionError(reason) : reason),
      complete,
    });
    return { unsubscribe };
  },
});

const connectionError = ({ code, reason }: CloseEvent) => ({
  message: `Connection closed: ${reason || "no reason given"} (${code})`,
});

/** Sends an operation to the server, with the headers of its tab. */
export const fetcher: Fetcher = (params, options) => {
  const operation = options?.documentAST && getOperationAST(options.documentAST, params.operationName);
  return (operation?.operation === "subscription" ? subscribe : execute)(params, options);
};
