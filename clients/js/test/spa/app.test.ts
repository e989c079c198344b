// The app of docs/spa.md as it is, built by Vite, in Chromium: clients/run.sh sets SITE_PROGRAM and CHROMIUM.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, chromium, type Page } from "playwright-core";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

const minute = 60_000; // a busy machine may take as long
const root = join(import.meta.dirname, "../../examples/react");
const folder = mkdtempSync(join(tmpdir(), "frontpage-spa-"));

let server: ChildProcess | undefined;
let port = 0; // of the server

/** Starts the server as step 1 of the tutorial does, but on a free port. */
async function start(): Promise<void> {
  const started = spawn(process.env.SITE_PROGRAM ?? "", ["--demo-articles"], {
    env: {
      PATH: process.env.PATH,
      REDIS_URL: `spawn://${folder}/data`,
      FRONTPAGE_REDIS_TIMEOUT: "2s", // on a busy machine a reply may take longer than the default
      FRONTPAGE_ADDR: "127.0.0.1:0",
      FRONTPAGE_CORS_ORIGINS: "http://localhost:5173",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  server = started;
  let log = "";
  port = await new Promise((resolve, reject) => {
    createInterface({ input: started.stderr as NodeJS.ReadableStream })
      .on("line", (line) => {
        log += `${line}\n`;
        const [, found] = /endpoint=http:\/\/[^ ]+:(\d+)\//.exec(line) ?? [];
        if (found) resolve(Number(found));
      })
      .on("close", () => reject(new Error(`the server did not start:\n${log}`)));
  });
}

async function stop(): Promise<void> {
  const stopping = server;
  server = undefined;
  if (!stopping || stopping.exitCode !== null) return;
  const ended = once(stopping, "exit");
  stopping.kill();
  await ended;
}

// The way to the server: a restarted server has another port.
const open = new Set<Socket>();
const way = createServer((from) => {
  const to = connect(port, "127.0.0.1");
  for (const [socket, other] of [
    [from, to],
    [to, from],
  ] as const) {
    open.add(socket);
    socket
      .on("error", () => {})
      .on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    socket.pipe(other);
  }
});

way.listen(0, "127.0.0.1");
await once(way, "listening");
process.env.FRONTPAGE_URL = `http://127.0.0.1:${(way.address() as AddressInfo).port}/query`;
const { execute, standing, vote } = await import("../server.ts");

let site: PreviewServer;
let browser: Browser;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  await build({ root, configFile: false, logLevel: "error", build: { outDir: join(folder, "app") } });
  site = await preview({
    root,
    configFile: false,
    build: { outDir: join(folder, "app") },
    preview: { host: "127.0.0.1", port: 0 },
  });
  await start();
  const mapped = (from: string, { port }: AddressInfo) => `MAP ${from} 127.0.0.1:${port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      // The tutorial's ports, which another program may have, are free ones.
      `--host-resolver-rules=${mapped("127.0.0.1:8080", way.address() as AddressInfo)}, ${mapped("localhost:5173", site.httpServer.address() as AddressInfo)}`,
    ],
  });
  page = await browser.newPage();
  page.setDefaultTimeout(minute);
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.goto("http://localhost:5173/");
});

afterAll(async () => {
  await browser?.close();
  await site?.close();
  way.close();
  for (const socket of open) socket.destroy();
  await stop();
  rmSync(folder, { recursive: true });
});

/** Returns the articles of the front page, with bob's votes. */
async function front(first: number) {
  const query =
    "query ($first: Int!) { articlesConnection(order: SCORE, first: $first) { nodes { id title votes viewerVote } } }";
  const { articlesConnection } = await execute<{
    articlesConnection: { nodes: { id: string; title: string; votes: number; viewerVote: string }[] };
  }>("bob", query, { first });
  return articlesConnection.nodes;
}

const buttons = () => page.locator("li button");
const until = (check: () => unknown) => vi.waitFor(check, { timeout: minute });

/** Waits until a row has this number of votes. */
async function shows(at: number, votes: number) {
  await until(async () => expect(await buttons().nth(at).textContent()).toBe(`${votes}`));
}

test("ten articles, in the order of the front page, and More", async () => {
  await until(async () => expect(await buttons().count()).toBe(10));
  const rows = async () => (await page.locator("li").allTextContents()).map((row) => row.trim());
  const expected = async (first: number) =>
    (await front(first)).map(({ title, votes }) => `${votes} ${title}`);
  expect(await rows()).toEqual(await expected(10));
  await page.locator(".more").click();
  await until(async () => expect(await rows()).toEqual(await expected(20)));
});

test("a vote shows before it is sent, never goes back, and others' votes follow", async () => {
  const at = 2;
  const { id, votes } = (await front(10))[at] as { id: string; votes: number };
  const button = buttons().nth(at);
  await button.evaluate((element) => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    new MutationObserver(() => shown.push(element.textContent ?? "")).observe(element, {
      characterData: true,
      childList: true,
      subtree: true,
    });
  });
  let send = () => {};
  const held = new Promise<void>((resolve) => {
    send = resolve;
  });
  await page.route("**/query", async (route) => {
    if (route.request().postData()?.includes("mutation Vote")) await held;
    await route.continue();
  });
  await button.click();
  await shows(at, votes + 1);
  expect(await standing("bob", id)).toEqual({ votes, viewerVote: "NONE" });
  send();
  await until(async () => expect(await standing("bob", id)).toEqual({ votes: votes + 1, viewerVote: "UP" }));
  await vote("carol", id);
  await shows(at, votes + 2);
  const shown = await page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  expect(shown).toEqual([`${votes + 1}`, `${votes + 2}`]);
  await page.unrouteAll();
});

test("a vote without a connection is sent after it, and no other vote is missed", async () => {
  const [pressed, missed] = (await front(10)).slice(4, 6) as { id: string; votes: number }[] as [
    { id: string; votes: number },
    { id: string; votes: number },
  ];
  await stop();
  await buttons().nth(4).click();
  await shows(4, pressed.votes + 1);
  await start();
  await vote("carol", pressed.id);
  await vote("carol", missed.id);
  await shows(4, pressed.votes + 2);
  await shows(5, missed.votes + 1);
  expect(await standing("bob", pressed.id)).toEqual({ votes: pressed.votes + 2, viewerVote: "UP" });
});

test("no script failed", () => expect(errors).toEqual([]));
