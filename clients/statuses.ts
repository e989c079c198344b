// What clients make of each HTTP status: asks a server of its own that answers with fixed responses, and compares the
// table that this gives with the one in docs/clients.md. With --write it puts its table there instead.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { ApolloClient, type ErrorPolicy, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { cacheExchange, Client, type Exchange, fetchExchange } from "@urql/core";
import { cacheExchange as graphcache } from "@urql/exchange-graphcache";
import { createClient as createEventsClient } from "graphql-sse";
import { createClient as createSocketClient, type ExecutionResult } from "graphql-ws";
import { type ConcreteRequest, Environment, fetchQuery, Network, RecordSource, Store } from "relay-runtime";
import { WebSocket, WebSocketServer } from "ws";
import { main } from "./endpoint";
import asked from "./relay/__generated__/siteStatusesQuery.graphql";
import caught from "./relay/__generated__/siteStatusesCaughtQuery.graphql";
import thrown from "./relay/__generated__/siteStatusesThrownQuery.graphql";

const query = "query Statuses { site { name } viewer { id name } }";
const bodies = {
  "partial data": {
    data: { site: { __typename: "Site", name: "News" }, viewer: null },
    errors: [{ message: "no viewer", path: ["viewer"], extensions: { code: "UNAVAILABLE" } }],
  },
  "errors only": { errors: [{ message: "no such field", extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }] },
};
const [json, graphql] = ["application/json", "application/graphql-response+json"];
const responses: { body: keyof typeof bodies; status: number; type: string }[] = [
  { body: "partial data", status: 200, type: json },
  { body: "partial data", status: 200, type: graphql },
  { body: "partial data", status: 294, type: json },
  { body: "partial data", status: 294, type: graphql },
  { body: "errors only", status: 200, type: json },
  { body: "errors only", status: 200, type: graphql },
  { body: "errors only", status: 422, type: json },
  { body: "errors only", status: 422, type: graphql },
];

/** Returns what a result, or what was thrown, has of the response: not as text, but as values. */
function found(result: unknown): string {
  const [seen, parts] = [new Set<unknown>(), new Set<string>()];
  const look = (value: unknown) => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if ("name" in value && value.name === "News") parts.add("data");
    if ("code" in value && /UNAVAILABLE|GRAPHQL_VALIDATION_FAILED/.test(String(value.code))) parts.add("errors");
    for (const key of Object.getOwnPropertyNames(value)) look((value as Record<string, unknown>)[key]);
  };
  look(result);
  return ["data", "errors"].filter((part) => parts.has(part)).join(", ") || "neither";
}

/** Asks the server at a URL, and returns or throws what an application gets. */
type Ask = (url: string) => Promise<unknown>;

const apollo =
  (errorPolicy: ErrorPolicy): Ask =>
  (uri) =>
    new ApolloClient({ link: new HttpLink({ uri }), cache: new InMemoryCache() }).query({ query: gql(query), errorPolicy });

const urql =
  (cache: Exchange): Ask =>
  async (url) => {
    const { data, error } = await new Client({ url, preferGetMethod: false, exchanges: [cache, fetchExchange] }).query(query, {});
    return { data, errors: error?.graphQLErrors };
  };

const request =
  (errorPolicy: "none" | "all" | "ignore"): Ask =>
  async (url) => {
    const { GraphQLClient } = await import("graphql-request");
    return new GraphQLClient(url, { errorPolicy }).request(query);
  };

const relay =
  (document: ConcreteRequest): Ask =>
  (url) => {
    const network = Network.create(async ({ text }) => {
      const headers = { "Content-Type": json, Accept: graphql };
      return (await fetch(url, { method: "POST", headers, body: JSON.stringify({ query: text }) })).json();
    });
    return fetchQuery(new Environment({ network, store: new Store(new RecordSource()) }), document, {}).toPromise();
  };

const events: Ask = async (url) => {
  for await (const result of createEventsClient({ url, retryAttempts: 0 }).iterate({ query })) return result;
};

const sockets: Ask = async (url) => {
  const client = createSocketClient({ url: url.replace("http", "ws"), webSocketImpl: WebSocket, retryAttempts: 0 });
  for await (const result of client.iterate({ query })) return result as ExecutionResult;
};

const own: Ask = async (url) => (await import("frontpage-client")).connect({ url }).execute(query);

const genqlient: Ask = async (url) => {
  const { stdout } = await promisify(execFile)("go", ["run", "-trimpath", "./statuses", url], { cwd: "go" });
  const { data, error, type } = JSON.parse(stdout);
  if (type) throw Object.assign(new Error(), { name: type, data, error });
  return data;
};

/** Returns a package's name and version. */
const version = (name: string) => `${name} ${JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version}`;

const apolloName = version("@apollo/client");
const urqlName = version("@urql/core");
const requestName = version("graphql-request");
const relayName = version("relay-runtime");
const genqlientName = /genqlient v\S+/.exec(readFileSync("go/go.mod", "utf8"))?.[0].replace("v", "");
const clients: [string, Ask][] = [
  [`${apolloName}, \`errorPolicy: "none"\`, the default`, apollo("none")],
  ['the same, `"all"`', apollo("all")],
  ['the same, `"ignore"`', apollo("ignore")],
  [urqlName, urql(cacheExchange)],
  [`the same with ${version("@urql/exchange-graphcache")}`, urql(graphcache({ keys: { Site: () => null } }))],
  [`${requestName}, \`errorPolicy: "none"\`, the default`, request("none")],
  ['the same, `"all"`', request("all")],
  ['the same, `"ignore"`', request("ignore")],
  [`${relayName}, \`fetch\` as in its guide`, relay(asked)],
  ["the same, the query with `@throwOnFieldError`", relay(thrown)],
  ["the same, the field with `@catch`", relay(caught)],
  [version("graphql-sse"), events],
  [`${version("graphql-ws")}, without statuses`, sockets],
  [`${genqlientName}`, genqlient],
  ["`frontpage-client`, by itself", own],
];

/** Returns the name of an error's kind. */
function kind(err: Error): string {
  return Array.isArray(err) ? "an array" : `\`${err.name === "Error" ? err.constructor.name : err.name}\``;
}

/** Asks for each of the responses, and returns the row of a client: its name, what it prefers, and what it gets. */
async function row(name: string, ask: Ask): Promise<string[]> {
  const got: string[] = [];
  let accept = "";
  for (const { body, status, type } of responses) {
    const server = createServer((req, res) => {
      accept = req.headers.accept ?? "";
      req.resume().on("end", () => res.writeHead(status, { "Content-Type": type }).end(JSON.stringify(bodies[body])));
    }).listen(0, "127.0.0.1");
    new WebSocketServer({ server }).on("connection", (socket) =>
      socket.on("message", (message) => {
        const { type, id } = JSON.parse(String(message));
        if (type === "connection_init") socket.send(JSON.stringify({ type: "connection_ack" }));
        if (type !== "subscribe") return;
        const answer = "data" in bodies[body] ? { type: "next", payload: bodies[body] } : { type: "error", payload: bodies[body].errors };
        socket.send(JSON.stringify({ ...answer, id }));
      }),
    );
    await once(server, "listening");
    const asking = ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/query`);
    got.push(await asking.then(found, (err) => `throws ${kind(err)}: ${found(err)}`));
    server.closeAllConnections();
    server.close();
  }
  const prefers = { [json]: "json", [graphql]: "graphql-response", "": "nothing" }[accept.split(/[,;]/)[0] ?? ""] ?? accept;
  return [name, prefers, ...got];
}

/** Returns the columns of some rows, those that are equal as one: the responses that it is about, and its cells. */
function columns(rows: string[][]): [string, string[]][] {
  const merged = new Map<string, { about: typeof responses; cells: string[] }>();
  responses.forEach((response, i) => {
    const cells = rows.map((row) => row[i + 2] ?? "");
    const key = JSON.stringify([response.body, cells]);
    merged.set(key, { about: [...(merged.get(key)?.about ?? []), response], cells });
  });
  const each = (values: string[]) => [...new Set(values)].join(" or ");
  return [...merged.values()].map(({ about, cells }) => {
    const types = about.map(({ type }) => type);
    const head = [about[0]?.body ?? "", each(about.map(({ status }) => String(status))), ...(new Set(types).size > 1 ? [] : types)];
    return [head.join(", "), cells];
  });
}

main(async () => {
  const rows: string[][] = [];
  for (const [name, ask] of clients) rows.push(await row(name, ask));
  const table = [
    ["client", rows.map(([name = ""]) => name)] as const,
    ["`Accept` prefers", rows.map(([, prefers = ""]) => prefers)] as const,
    ...columns(rows),
  ];
  const lines = [table.map(([head]) => head), table.map(() => "---"), ...rows.map((_row, i) => table.map(([, cells]) => cells[i]))];
  const markdown = lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

  const page = "../docs/clients.md";
  const text = readFileSync(page, "utf8");
  const [begin, end] = ["<!-- made by clients/run.sh statuses -->\n", "\n<!-- end -->"];
  const [start, stop] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  assert(start >= begin.length && stop > start, `${page} has no place for the table`);
  if (process.argv.includes("--write")) writeFileSync(page, text.slice(0, start) + markdown + text.slice(stop));
  else assert.equal(text.slice(start, stop), markdown, `the table in ${page} is out of date: make it by clients/run.sh statuses`);
  console.log(`statuses: what ${clients.length} clients make of ${responses.length} responses is as documented`);
});
