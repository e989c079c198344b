// A router of Apollo Federation, which asks a site and a second subgraph that adds a field to articles.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { composeServices } from "@apollo/composition";
import { createGatewayRuntime } from "@graphql-hive/gateway-runtime";
import { parse } from "graphql";
import { defined, main } from "./endpoint";

/** Starts a site that answers routers, and returns the address of its API. */
async function site(): Promise<string> {
  const program = spawn(defined(process.env["SITE_PROGRAM"]), {
    env: { ...process.env, REDIS_URL: "memory://", FRONTPAGE_ADDR: "127.0.0.1:0", FRONTPAGE_SUBGRAPH: "true" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.on("exit", () => program.kill());
  for await (const line of createInterface(program.stderr)) {
    const found = /endpoint=(\S+)/.exec(line);
    if (found) return defined(found[1]);
  }
  throw new Error("the site did not start");
}

/** Starts a subgraph that knows how long it takes to read an article. */
async function minutes(): Promise<string> {
  const server = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    const { representations } = JSON.parse(body).variables as { representations: { __typename: string; id: string }[] };
    const _entities = representations.map(({ __typename, id }) => ({ __typename, minutes: id.length }));
    res.setHeader("Content-Type", "application/json").end(JSON.stringify({ data: { _entities } }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function execute(url: string, query: string, ask: typeof fetch = fetch) {
  const response = await ask(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": "alice" },
    body: JSON.stringify({ query }),
  });
  return response.json();
}

main(async () => {
  const url = await site();
  const sdl = readFileSync("../deploy/subgraph.graphqls", "utf8");
  assert.equal((await execute(url, "{ _service { sdl } }")).data._service.sdl, sdl);
  const reading = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])
    type Article @key(fields: "id") { id: ID! minutes: Int! }`;
  const { errors, supergraphSdl } = composeServices([
    { name: "site", url, typeDefs: parse(sdl) },
    { name: "reading", url: await minutes(), typeDefs: parse(reading) },
  ]);
  assert.equal(errors, undefined);
  const router = createGatewayRuntime({ supergraph: defined(supergraphSdl), logging: false });
  const ask = (query: string) => execute("http://router/graphql", query, router.fetch as typeof fetch);

  for (const title of ["first", "second"]) {
    await execute(url, `mutation { post(input: { title: "${title}", text: "x" }) { article { id } } }`);
  }
  assert.deepEqual(await ask("{ articlesConnection(first: 2, order: TIME) { nodes { title minutes } } }"), {
    data: {
      articlesConnection: {
        nodes: [
          { title: "second", minutes: 9 },
          { title: "first", minutes: 9 },
        ],
      },
    },
  });
  // From the other subgraph to the site, as a router does.
  const query = `query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on Article { title votes } } }`;
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, variables: { representations: [{ __typename: "Article", id: "article:1" }] } }),
  });
  assert.deepEqual(await response.json(), { data: { _entities: [{ title: "first", votes: 1 }] } });
});
