import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { expect } from "@playwright/test";
import { gate } from "./helpers";

/** Requests or responses that the relay does not forward yet. */
class Held {
  readonly variables: Record<string, unknown>[] = [];
  private readonly gate = gate();

  /** Waits until a number of requests have arrived. */
  async arrived(count: number): Promise<void> {
    await expect.poll(() => this.variables.length, `${count} have arrived`).toBe(count);
  }

  /** Forwards the requests, except those whose clients have gone. */
  release(): void {
    this.gate.open();
  }

  async wait(variables: Record<string, unknown>): Promise<void> {
    this.variables.push(variables);
    await this.gate.opened;
  }
}

interface Rule {
  /** How many requests it applies to. */
  count: number;
  held?: Held;
  of: "request" | "response";
}

/**
 * Forwards requests and WebSockets to a server. It can hold requests between browser and server, also after
 * the page that sent them has gone, when Playwright's routes do not apply.
 */
export class Relay {
  url = "";
  private readonly target: string;
  private readonly rules = new Map<string, Rule>();
  private readonly sockets = new Set<Duplex>();
  private readonly server = createServer((incoming, response) => this.forward(incoming, response));

  constructor(target: string) {
    this.target = target;
    this.server.on("upgrade", (incoming, socket) => this.tunnel(incoming, socket));
    this.server.on("connection", (socket: Socket) => this.track(socket));
  }

  async start(): Promise<void> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, "close");
  }

  /** Holds the next requests of an operation, such as Vote. */
  hold(operation: string, count = 1): Held {
    const held = new Held();
    this.rules.set(operation, { held, count, of: "request" });
    return held;
  }

  /** Holds the response to the next request of an operation. */
  holdResponse(operation: string): Held {
    const held = new Held();
    this.rules.set(operation, { held, count: 1, of: "response" });
    return held;
  }

  /** Closes the connections of all further requests of an operation: a browser repeats one by itself. */
  cut(operation: string): void {
    this.rules.set(operation, { count: Number.POSITIVE_INFINITY, of: "request" });
  }

  private async forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let gone = false;
    response.on("close", () => {
      gone = true;
    });
    const body = await text(incoming).catch(() => undefined);
    if (body === undefined) return;
    const { operationName, variables } = incoming.method === "POST" ? JSON.parse(body) : {};
    const rule = this.rules.get(operationName);
    const applies = rule !== undefined && rule.count-- > 0;
    if (applies && !rule.held) return void response.destroy();
    if (applies && rule.of === "request") await rule.held?.wait(variables);
    if (gone) return;
    const { method, url, headers } = incoming;
    const outgoing = request(this.target + url, { method, headers });
    outgoing.on("error", () => response.destroy());
    outgoing.on("response", async (answer) => {
      if (applies && rule.of === "response") await rule.held?.wait(variables);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.end(body);
  }

  private tunnel(incoming: IncomingMessage, socket: Duplex): void {
    const { hostname, port } = new URL(this.target);
    const server = this.track(connect(Number(port), hostname));
    const headers = incoming.rawHeaders.map((part, i) => part + (i % 2 === 0 ? ": " : "\r\n")).join("");
    server.write(`GET ${incoming.url} HTTP/1.1\r\n${headers}\r\n`);
    server.pipe(socket).pipe(server);
  }

  private track<S extends Duplex>(socket: S): S {
    this.sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.sockets.delete(socket));
    return socket;
  }
}
