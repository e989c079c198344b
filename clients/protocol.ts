// What https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md asks of a server,
// done by this one and by the reference server of graphql-ws: both must do the same.
import assert from "node:assert/strict";
import { EventEmitter, on, once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { buildSchema } from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { pause } from "./live";
import { main, url } from "./site";

const subprotocol = "graphql-transport-ws";

interface Message {
  id?: string;
  type: string;
  payload?: unknown;
}

/** A socket to either server, without a client that knows the protocol. */
class Socket {
  readonly said: Message[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly opened: Promise<unknown>;
  private readonly socket: WebSocket;
  private readonly news = new EventEmitter();

  constructor(server: string, protocols: string[]) {
    this.socket = new WebSocket(server, protocols);
    this.opened = once(this.socket, "open");
    this.socket.on("message", (data: RawData) => {
      this.said.push(JSON.parse(String(data)));
      this.news.emit("news");
    });
    this.socket.on("close", (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.news.emit("news");
    });
  }

  send(...messages: unknown[]): void {
    for (const message of messages) {
      this.socket.send(typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message));
    }
  }

  async within(ms: number, isSo: () => boolean): Promise<boolean> {
    for (const signal = AbortSignal.timeout(ms); !isSo(); ) {
      if (signal.aborted) return false;
      await once(this.news, "news", { signal }).catch(() => {});
    }
    return true;
  }

  /** Waits for a message. Whether it came is seen in the outcome. */
  async hear(type: string, id?: string, count = 1): Promise<void> {
    const heard = () => this.said.filter((message) => message.type === type && message.id === id).length >= count;
    await this.within(2000, () => heard() || this.closed !== undefined);
  }

  async init(payload?: object): Promise<void> {
    this.send({ type: "connection_init", payload });
    await this.hear("connection_ack");
  }

  /** Changes the article until a subscription tells so: no message says that it has begun. */
  async hearChange(id: string, article: string): Promise<void> {
    const before = this.said.filter((message) => message.id === id).length;
    await pause(150);
    for (let round = 0; round < 5; round++) {
      const direction = round % 2 === 0 ? "UP" : "NONE";
      const vote = `vote-${id}-${before}-${round}`;
      this.send(subscribe(vote, `mutation { vote(input: { article: "${article}", direction: ${direction} }) { changed } }`));
      if (await this.within(1000, () => this.said.filter((message) => message.id === id).length > before)) return;
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
  code?: number; // how the server closes the socket; it stays open without
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

const answered = (name: string, query: string, last: string, more: object = {}): Case => ({
  name,
  async act(socket) {
    await socket.init();
    socket.send(subscribe("1", query, more));
    await socket.hear(last, "1");
  },
});

const cases: Case[] = [
  { name: "no subprotocol", code: 4406, subprotocols: [] },
  { name: "no connection_init in time", code: 4408 },
  {
    name: "no connection_init in time, but signs of life",
    code: 4408,
    async act(socket) {
      for (let i = 1; i <= 4; i++) {
        socket.send({ type: "ping" });
        await socket.hear("pong", undefined, i);
        await pause(600);
      }
    },
  },
  { name: "subscribe before connection_init", code: 4401, act: (socket) => socket.send(subscribe("1", "{ viewer { name } }")) },
  { name: "a second connection_init", code: 4429, act: async (socket) => (await socket.init(), socket.send({ type: "connection_init" })) },
  {
    name: "an id in use",
    code: 4409,
    async act(socket) {
      await socket.init({ "X-User-ID": "protocol" });
      socket.send(subscribe("1", changes("article:1201")));
      await socket.hearChange("1", "article:1201");
      socket.send(subscribe("1", "{ viewer { name } }"));
    },
  },

  { name: "no JSON before connection_init", code: 4400, act: (socket) => socket.send("connection_init") },
  { name: "connection_init with a list", code: 4400, act: (socket) => socket.send({ type: "connection_init", payload: [] }) },
  afterInit("no JSON", "{", 4400),
  afterInit("nothing", "", 4400),
  afterInit("two objects", '{"type":"ping"}{"type":"ping"}', 4400),
  afterInit("a list", [], 4400),
  afterInit("a string", '"ping"', 4400),
  afterInit("null", "null", 4400),
  afterInit("no type", {}, 4400),
  afterInit("a pong with a list", { type: "pong", payload: [] }, 4400),
  afterInit("a member in capitals", { Type: "ping" }, 4400),
  afterInit("a ping with a number as id", { type: "ping", id: 1 }),
  { name: "half a subscribe before connection_init", code: 4400, act: (socket) => socket.send({ type: "subscribe", id: "1" }) },
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
      await socket.hear("pong");
      await socket.init({});
      socket.send({ type: "ping", payload });
      await socket.hear("pong", undefined, 2);
    },
  })),
  afterInit("a pong that nobody asked for", { type: "pong", payload: { at: 1 } }),
  afterInit("a message in a frame of bytes", Buffer.from('{"type":"pong"}')),
  afterInit("complete for an unknown id", { type: "complete", id: "nobody" }),

  answered("a query", "{ viewer { name } articlesConnection { __typename } }", "complete"),
  answered("a mutation", 'mutation { vote(input: { article: "article:1202" }) { __typename } }', "complete"),
  answered("null for what can be left out", "{ viewer { name } }", "complete", { variables: null, operationName: null, extensions: null }),
  answered("an invalid query", "{ nothing }", "error"),
  answered("an invalid subscription", "subscription { articleChanged { id } }", "error"),
  answered("an operation that there is not", "query A { viewer { name } }", "error", { operationName: "B" }),
  answered("two operations", "query A { viewer { name } } query B { viewer { name } }", "error"),
  {
    name: "an invalid operation beside a subscription",
    async act(socket) {
      await socket.init({ "X-User-ID": "protocol" });
      socket.send(subscribe("live", changes("article:1203")));
      await socket.hearChange("live", "article:1203");
      socket.send(subscribe("wrong", "{ nothing }"));
      await socket.hear("error", "wrong");
      await socket.hearChange("live", "article:1203");
      socket.send({ type: "complete", id: "live" });
    },
  },
  {
    name: "ids used again",
    async act(socket) {
      await socket.init({ "X-User-ID": "protocol" });
      socket.send(subscribe("1", "{ articlesConnection { __typename } }"));
      await socket.hear("complete", "1");
      socket.send(subscribe("1", "{ nothing }"));
      await socket.hear("error", "1");
      socket.send(subscribe("1", changes("article:1204")));
      await socket.hearChange("1", "article:1204");
      socket.send({ type: "complete", id: "1" });
      // The reference server needs some time to forget an id.
      await pause(100);
      socket.send(subscribe("1", changes("article:1205")));
      await socket.hearChange("1", "article:1205");
    },
  },
];

/** The messages of one operation have an order, those of several have none. How often a vote had to be sent is chance. */
function byOperation(said: Message[]): Record<string, unknown[]> {
  const sorted: Record<string, unknown[]> = {};
  for (const { id = "", type, payload } of said) {
    if (id.startsWith("vote-")) continue;
    const of = (sorted[id] ??= []);
    // The texts of errors differ.
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
  // What is not to be said would come in this time.
  await socket.within(code === undefined ? 300 : 5000, () => socket.closed !== undefined);
  const closed = socket.closed && { ...socket.closed, seconds: Math.round((Date.now() - began) / 1000) };
  socket.end();
  // Only the reason of 4400 is not the protocol's.
  if (closed?.code === 4400) closed.reason = "";
  return { closed, said: byOperation(socket.said) };
}

/** The reference server with our schema, and as much behind it as the cases ask for. */
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
      const [ours, theirs] = await Promise.all([outcome(url.replace(/^http/, "ws"), one), outcome(server, one)]);
      if (!isDeepStrictEqual(ours, theirs) || ours.closed?.code !== one.code) {
        failed.push(`${one.name}, to be closed with ${one.code}:\n  here ${JSON.stringify(ours)}\n  reference ${JSON.stringify(theirs)}`);
      }
    }),
  );
  stop();
  assert.equal(failed.length, 0, `graphql-transport-ws is not spoken as by the reference server:\n${failed.join("\n")}`);
  console.log(`graphql-transport-ws: ${cases.length} cases as by the reference server`);
});
