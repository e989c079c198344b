// Runs each case of https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md against this
// server and against the reference server of graphql-ws: both must behave the same.
import assert from "node:assert/strict";
import { EventEmitter, on, once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { buildSchema } from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { main, socketURL } from "./endpoint";
import { pause } from "./live";

const subprotocol = "graphql-transport-ws";

interface Message {
  id?: string;
  type: string;
  payload?: unknown;
}

/** A bare WebSocket connection to either server, without a client library. */
class Socket {
  readonly received: Message[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly opened: Promise<unknown>;
  private readonly socket: WebSocket;
  private readonly events = new EventEmitter();

  constructor(server: string, protocols: string[]) {
    this.socket = new WebSocket(server, protocols);
    this.opened = once(this.socket, "open");
    this.socket.on("message", (data: RawData) => {
      this.received.push(JSON.parse(String(data)));
      this.events.emit("event");
    });
    this.socket.on("close", (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.events.emit("event");
    });
  }

  send(...messages: unknown[]): void {
    for (const message of messages) {
      this.socket.send(typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message));
    }
  }

  async within(ms: number, condition: () => boolean): Promise<boolean> {
    for (const signal = AbortSignal.timeout(ms); !condition(); ) {
      if (signal.aborted) return false;
      await once(this.events, "event", { signal }).catch(() => {});
    }
    return true;
  }

  /** Waits at most 2 seconds for messages of a type. The outcome shows whether they came. */
  async waitFor(type: string, id?: string, count = 1): Promise<void> {
    const arrived = () => this.received.filter((message) => message.type === type && message.id === id).length >= count;
    await this.within(2000, () => arrived() || this.closed !== undefined);
  }

  async init(payload?: object): Promise<void> {
    this.send({ type: "connection_init", payload });
    await this.waitFor("connection_ack");
  }

  /** Votes until the subscription sends an event: no message says that it has started. */
  async waitForChange(id: string, article: string): Promise<void> {
    const before = this.received.filter((message) => message.id === id).length;
    await pause(150);
    for (let round = 0; round < 5; round++) {
      const direction = round % 2 === 0 ? "UP" : "NONE";
      const vote = `vote-${id}-${before}-${round}`;
      this.send(subscribe(vote, `mutation { vote(input: { article: "${article}", direction: ${direction} }) { changed } }`));
      if (await this.within(1000, () => this.received.filter((message) => message.id === id).length > before)) return;
    }
  }

  end(): void {
    this.socket.close();
  }
}

const subscribe = (id: string, query: unknown, more: object = {}) => ({ id, type: "subscribe", payload: { query, ...more } });

const changes = (article: string) => `subscription { articleChanged(ids: ["${article}"]) { id } }`;

interface Case {
  name: string;
  code?: number; // expected close code; without it, the socket stays open
  subprotocols?: string[];
  act?: (socket: Socket) => Promise<void> | void;
}

const afterInit = (name: string, message: unknown, code?: number): Case => ({
  name,
  ...(code && { code }),
  async act(socket) {
    await socket.init();
    socket.send(message);
  },
});

const afterOperation = (name: string, query: string, last: string, more: object = {}): Case => ({
  name,
  async act(socket) {
    await socket.init();
    socket.send(subscribe("1", query, more));
    await socket.waitFor(last, "1");
  },
});

const cases: Case[] = [
  { name: "no subprotocol", code: 4406, subprotocols: [] },
  { name: "no connection_init in time", code: 4408 },
  {
    name: "no connection_init in time, in spite of pings",
    code: 4408,
    async act(socket) {
      for (let i = 1; i <= 4; i++) {
        socket.send({ type: "ping" });
        await socket.waitFor("pong", undefined, i);
        await pause(600);
      }
    },
  },
  { name: "subscribe before connection_init", code: 4401, act: (socket) => socket.send(subscribe("1", "{ viewer { name } }")) },
  { name: "a second connection_init", code: 4429, act: async (socket) => (await socket.init(), socket.send({ type: "connection_init" })) },
  {
    name: "an id that is in use",
    code: 4409,
    async act(socket) {
      await socket.init({ "X-User-ID": "protocol" });
      socket.send(subscribe("1", changes("article:1201")));
      await socket.waitForChange("1", "article:1201");
      socket.send(subscribe("1", "{ viewer { name } }"));
    },
  },

  { name: "invalid JSON before connection_init", code: 4400, act: (socket) => socket.send("connection_init") },
  { name: "connection_init with a list", code: 4400, act: (socket) => socket.send({ type: "connection_init", payload: [] }) },
  afterInit("invalid JSON", "{", 4400),
  afterInit("an empty message", "", 4400),
  afterInit("two objects", '{"type":"ping"}{"type":"ping"}', 4400),
  afterInit("a list", [], 4400),
  afterInit("a string", '"ping"', 4400),
  afterInit("null", "null", 4400),
  afterInit("no type", {}, 4400),
  afterInit("a pong with a list", { type: "pong", payload: [] }, 4400),
  afterInit("a member in capitals", { Type: "ping" }, 4400),
  afterInit("a ping with a number as id", { type: "ping", id: 1 }),
  { name: "subscribe without a payload before connection_init", code: 4400, act: (socket) => socket.send({ type: "subscribe", id: "1" }) },
  afterInit("an empty type", { type: "" }, 4400),
  afterInit("a number as type", { type: 1 }, 4400),
  afterInit("an unknown type", { type: "start", id: "1" }, 4400),
  afterInit("a ping with a list", { type: "ping", payload: [] }, 4400),
  afterInit("subscribe without an id", { type: "subscribe", payload: { query: "{ viewer { name } }" } }, 4400),
  afterInit("subscribe with an empty id", subscribe("", "{ viewer { name } }"), 4400),
  afterInit("subscribe with a number as id", { id: 1, type: "subscribe", payload: { query: "{ viewer { name } }" } }, 4400),
  afterInit("subscribe without a payload", { id: "1", type: "subscribe" }, 4400),
  afterInit("subscribe without a query", { id: "1", type: "subscribe", payload: {} }, 4400),
  afterInit("subscribe with null as query", subscribe("1", null), 4400),
  afterInit("subscribe with a number as query", subscribe("1", 5), 4400),
  afterInit("subscribe with a list of variables", subscribe("1", "{ viewer { name } }", { variables: [] }), 4400),
  afterInit("subscribe with a number as operationName", subscribe("1", "{ viewer { name } }", { operationName: 1 }), 4400),
  afterInit("subscribe with a list of extensions", subscribe("1", "{ viewer { name } }", { extensions: [] }), 4400),
  afterInit("complete without an id", { type: "complete" }, 4400),
  afterInit("complete with an empty id", { type: "complete", id: "" }, 4400),

  ...[undefined, null, {}, { at: [1, "a"], deep: { b: null } }].map((payload) => ({
    name: `ping before connection_init with ${JSON.stringify(payload)}`,
    async act(socket: Socket) {
      socket.send({ type: "ping", payload });
      await socket.waitFor("pong");
      await socket.init({});
      socket.send({ type: "ping", payload });
      await socket.waitFor("pong", undefined, 2);
    },
  })),
  afterInit("an unrequested pong", { type: "pong", payload: { at: 1 } }),
  afterInit("complete for an unknown id", { type: "complete", id: "unknown" }),

  afterOperation("a query", "{ viewer { name } articlesConnection { __typename } }", "complete"),
  afterOperation("a mutation", 'mutation { vote(input: { article: "article:1202" }) { __typename } }', "complete"),
  afterOperation("null for optional members", "{ viewer { name } }", "complete", { variables: null, operationName: null, extensions: null }),
  afterOperation("an invalid query", "{ nothing }", "error"),
  afterOperation("an invalid subscription", "subscription { articleChanged { id } }", "error"),
  afterOperation("an unknown operation name", "query A { viewer { name } }", "error", { operationName: "B" }),
  afterOperation("two operations", "query A { viewer { name } } query B { viewer { name } }", "error"),
  {
    name: "an invalid operation during a subscription",
    async act(socket) {
      await socket.init({ "X-User-ID": "protocol" });
      socket.send(subscribe("live", changes("article:1203")));
      await socket.waitForChange("live", "article:1203");
      socket.send(subscribe("wrong", "{ nothing }"));
      await socket.waitFor("error", "wrong");
      await socket.waitForChange("live", "article:1203");
      socket.send({ type: "complete", id: "live" });
    },
  },
  {
    name: "reused ids",
    async act(socket) {
      await socket.init({ "X-User-ID": "protocol" });
      socket.send(subscribe("1", "{ articlesConnection { __typename } }"));
      await socket.waitFor("complete", "1");
      socket.send(subscribe("1", "{ nothing }"));
      await socket.waitFor("error", "1");
      socket.send(subscribe("1", changes("article:1204")));
      await socket.waitForChange("1", "article:1204");
      socket.send({ type: "complete", id: "1" });
      // The reference server takes a moment to release an id.
      await pause(100);
      socket.send(subscribe("1", changes("article:1205")));
      await socket.waitForChange("1", "article:1205");
    },
  },
];

/**
 * Groups messages by operation: only those of one operation are ordered. Votes are left out, because
 * their number depends on timing.
 */
function byOperation(received: Message[]): Record<string, unknown[]> {
  const sorted: Record<string, unknown[]> = {};
  for (const { id = "", type, payload } of received) {
    if (id.startsWith("vote-")) continue;
    const of = (sorted[id] ??= []);
    // The servers word their errors differently.
    const message = JSON.stringify({ type, payload: type === "error" && Array.isArray(payload) ? "errors" : payload });
    if (of.at(-1) !== message) of.push(message);
  }
  return sorted;
}

async function outcome(server: string, { act, code, subprotocols = [subprotocol] }: Case) {
  const socket = new Socket(server, subprotocols);
  await socket.opened;
  const began = Date.now();
  await act?.(socket);
  // A message that must not be sent would arrive within this time.
  await socket.within(code === undefined ? 300 : 5000, () => socket.closed !== undefined);
  // The wait for connection_init takes 3 seconds, all else much less.
  const closed = socket.closed && { ...socket.closed, waited: Date.now() - began > 2500 };
  socket.end();
  // The protocol prescribes the reasons of all codes but 4400.
  if (closed?.code === 4400) closed.reason = "";
  return { closed, received: byOperation(socket.received) };
}

/** The reference server with our schema and the resolvers that the cases need. */
async function reference(): Promise<{ server: string; stop: () => void }> {
  const schema = buildSchema(readFileSync("../schema.graphqls", "utf8"));
  const changed = new EventEmitter().setMaxListeners(100);
  const { articleChanged } = schema.getSubscriptionType()?.getFields() ?? {};
  assert(articleChanged);
  articleChanged.subscribe = (_, { ids }) => on(changed, ids[0]);
  articleChanged.resolve = ([id]) => ({ id });
  const roots = {
    query: { articlesConnection: {} },
    mutation: {
      vote({ input }: { input: { article: string } }) {
        changed.emit(input.article, input.article);
        return { changed: true };
      },
    },
  };
  const sockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(sockets, "listening");
  const { dispose } = useServer({ schema, roots, connectionInitWaitTimeout: 3000 }, sockets);
  return { server: `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}`, stop: () => void dispose() };
}

main(async () => {
  const { server, stop } = await reference();
  const failed: string[] = [];
  await Promise.all(
    cases.map(async (one) => {
      const [ours, theirs] = await Promise.all([outcome(socketURL, one), outcome(server, one)]);
      if (!isDeepStrictEqual(ours, theirs) || ours.closed?.code !== one.code) {
        failed.push(`${one.name}, expected close code ${one.code}:\n  frontpage ${JSON.stringify(ours)}\n  reference ${JSON.stringify(theirs)}`);
      }
    }),
  );
  stop();
  assert.equal(failed.length, 0, `graphql-transport-ws differs from the reference server:\n${failed.join("\n")}`);
  console.log(`graphql-transport-ws: ${cases.length} cases like the reference server`);
});
