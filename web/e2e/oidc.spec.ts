import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "@playwright/test";
import { test as base, expect } from "./fixtures";
import { down, gate, manyArticles, message, rows, up, votes } from "./helpers";
import { type Article, Server } from "./server";

/** An OIDC provider: ../../tests/oidc. */
class Provider {
  url = "";
  private readonly process = spawn(process.env.FRONTPAGE_OIDC ?? "", { stdio: ["pipe", "pipe", "inherit"] });

  async start(): Promise<void> {
    [this.url] = (await once(createInterface({ input: this.process.stdout }), "line")) as [string];
  }

  async control(what: string, value = ""): Promise<string> {
    const response = await fetch(`${this.url}/control/${what}`, {
      method: "POST",
      body: new URLSearchParams({ value }),
    });
    return response.text();
  }

  stop(): void {
    this.process.stdin.end();
  }
}

interface Fixtures {
  provider: Provider;
  /** URL of a Redis that several processes can use. */
  store: string;
  /** Another process of the same site. */
  second: Server;
}

const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright requires the pattern, and the fixture has no dependencies
  provider: async ({}, use) => {
    const provider = new Provider();
    await provider.start();
    await use(provider);
    provider.stop();
  },
  // biome-ignore lint/correctness/noEmptyPattern: as above
  store: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "frontpage-redis-"));
    const socket = join(folder, "socket");
    const redis = spawn("redis-server", [
      "--port",
      "0",
      "--unixsocket",
      socket,
      "--save",
      "",
      "--dir",
      folder,
    ]);
    await ready(redis);
    await use(`unix://${socket}`);
    redis.kill();
    await once(redis, "exit");
    rmSync(folder, { recursive: true });
  },
  settings: async ({ provider, store }, use) => {
    const address = `127.0.0.1:${await freePort()}`;
    await use({
      REDIS_URL: store,
      FRONTPAGE_ADDR: address,
      FRONTPAGE_PUBLIC_URL: `http://${address}`,
      FRONTPAGE_OIDC_ISSUER: provider.url,
      FRONTPAGE_OIDC_CLIENT_ID: "frontpage",
      FRONTPAGE_OIDC_CLIENT_SECRET: "the secret of the site",
      FRONTPAGE_OIDC_SCOPES: "openid profile offline_access",
    });
  },
  second: async ({ server, settings, watch }, use) => {
    const second = new Server({ ...settings, FRONTPAGE_ADDR: `127.0.0.1:${await freePort()}` }, false);
    await second.start();
    watch.origins.push(second.url);
    await use(second);
    await second.remove();
    expect(second.url).not.toBe(server.url);
  },
});
test.use({ viewer: "", csv: manyArticles(60) });
test.beforeEach(({ watch, provider }) => void watch.origins.push(provider.url));
test.slow(); // several processes start, and a session is noticed to have ended within 30 s

async function ready(redis: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: redis.stdout as NodeJS.ReadableStream }))
    if (line.includes("ready to accept connections")) return;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Fills in the provider's form. */
async function signInAs(page: Page, name: string): Promise<void> {
  await page.locator("[name=username]").fill(name);
  await page.locator("[name=password]").fill("secret");
  await page.locator("[type=submit]").click();
}

const banner = (page: Page) => page.getByRole("banner");
const signedIn = (page: Page, name: string) =>
  expect(banner(page).getByRole("link", { name, exact: true })).toBeVisible();
const signedOut = (page: Page) => expect(banner(page).getByRole("link", { name: "Sign in" })).toBeVisible();

test("a visitor signs in by voting, posts, is renewed and signs out, in two windows of two processes @core", async ({
  page,
  context,
  server,
  second,
  provider,
  watch,
}) => {
  watch.allowed.push(/status of 401/);
  await provider.control("lifetime", "3");
  await page.goto("/");
  await expect(rows(page)).toHaveCount(25);
  await rows(page).last().scrollIntoViewIfNeeded(); // which reads more
  await expect(rows(page)).toHaveCount(50);
  const row = rows(page).nth(40);
  await row.scrollIntoViewIfNeeded();
  const id = await row.getAttribute("data-id");
  const before = Number(await votes(row).textContent());
  const y = await page.evaluate(() => scrollY);
  expect(y).toBeGreaterThan(500);
  await up(row).click();
  await signInAs(page, "alice");

  await signedIn(page, "alice");
  await expect(page).toHaveURL((url) => url.origin === server.url && url.pathname === "/"); // with the part at which it was
  const voted = page.locator(`[data-id="${id}"]`);
  await expect(up(voted)).toHaveAttribute("aria-pressed", "true");
  await expect(votes(voted)).toHaveText(`${before + 1}`);
  await expect(voted).toBeInViewport();
  expect(Math.abs((await page.evaluate(() => scrollY)) - y)).toBeLessThan(100);

  const other = await context.newPage();
  await other.goto(`${second.url}/submit`);
  await signedIn(other, "alice");
  await other.getByLabel("Title").fill("By cookie");
  await other.getByLabel("Text").fill("Words.");
  await other.getByRole("button", { name: "Post" }).click();
  await expect(other).toHaveURL(/\/a\/61$/);
  await expect(up(other.getByRole("article"))).toHaveAttribute("aria-pressed", "true");

  await expect
    .poll(async () => {
      await page.reload();
      await signedIn(page, "alice");
      return Number(await provider.control("renewals"));
    })
    .toBeGreaterThan(0);

  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(`${server.url}/`); // by way of the provider
  await signedOut(page);
  await expect(message(other)).toHaveText("You have been signed out. Please sign in again.", {
    timeout: 240_000,
  });
  await signedOut(other);
  await expect(other.getByRole("article")).toBeVisible();
  expect(await context.cookies(server.url)).toEqual([expect.objectContaining({ name: "frontpage-flow" })]);
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("a visitor signs in by voting, votes, takes it back, and signs out", async ({
    page,
    server,
    watch,
  }) => {
    watch.allowed.push(/status of 401/);
    await page.goto("/new");
    const row = rows(page).nth(3);
    const id = await row.getAttribute("data-id");
    const before = Number(await votes(row).textContent());
    await up(row).click();
    await signInAs(page, "alice");

    await expect(page).toHaveURL(`${server.url}/new#${id}`);
    await signedIn(page, "alice");
    const voted = page.locator(`[data-id="${id}"]`);
    await expect(up(voted)).toHaveAttribute("aria-pressed", "true");
    await expect(votes(voted)).toHaveText(`${before + 1}`);
    await expect(voted).toBeInViewport();
    await down(voted).click();
    await expect(down(voted)).toHaveAttribute("aria-pressed", "true");
    await expect(votes(voted)).toHaveText(`${before - 1}`);
    await voted.locator("time").click();
    await down(page.getByRole("article")).click();
    await expect(votes(page.getByRole("article"))).toHaveText(`${before}`);
    expect((await server.article({ id: id ?? "" })).votes).toBe(before);

    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page).toHaveURL(`${server.url}/`);
    await signedOut(page);
  });
});

test("a click before the script runs votes by the form of the page", async ({ page, server }) => {
  await page.goto("/new");
  await banner(page).getByRole("link", { name: "Sign in" }).click();
  await signInAs(page, "alice");
  await signedIn(page, "alice");
  const { open, opened } = gate();
  await page.route("**/assets/site.js", async (route) => {
    await opened;
    await route.continue();
  });
  await page.goto("/", { waitUntil: "commit" });
  const row = rows(page).nth(4);
  const id = (await row.getAttribute("data-id")) ?? "";
  const { votes: before } = await server.article({ id });
  await up(row).click({ noWaitAfter: true });
  await expect.poll(async () => (await server.article({ id })).votes).toBe(before + 1);
  await expect(page).toHaveURL(`${server.url}/#${id}`); // until the script runs
  open();
  await signedIn(page, "alice");
  await expect(up(page.locator(`[data-id="${id}"]`))).toHaveAttribute("aria-pressed", "true");
  expect((await server.article({ id })).votes).toBe(before + 1);
});

test("pages of other origins change nothing for the user who is signed in", async ({
  page,
  context,
  server,
  provider,
  watch,
}) => {
  watch.allowed.push(/status of 4(03|15)|CORS policy|WebSocket|ERR_FAILED/);
  await page.goto("/new");
  await banner(page).getByRole("link", { name: "Sign in" }).click();
  await signInAs(page, "alice");
  await expect(page).toHaveURL("/new");
  await signedIn(page, "alice");
  const { id, votes: before } = (await server.articles())[0] as Article;

  const query = JSON.stringify({
    query: `mutation { vote(input: {article: "${id}", direction: UP}) { changed } }`,
  });
  const evil = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end(`<form id="vote" method="post" enctype="text/plain" action="${server.url}/query">
      <input name='${query.slice(0, -1)}, "x": "' value='"}'></form>
      <form id="out" method="post" action="${server.url}/sign-out"></form>`);
  }).listen(0);
  await once(evil, "listening");
  const { port } = evil.address() as AddressInfo;
  // The first one is another origin of the same site, to which browsers send the cookie.
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    watch.origins.push(origin);
    const foreign = await context.newPage();
    for (const form of ["vote", "out"]) {
      await foreign.goto(origin);
      const answer = foreign.waitForResponse((response) => response.url().startsWith(server.url));
      const arrived = foreign.waitForURL(`${server.url}/**`);
      await foreign.evaluate((id) => document.querySelector<HTMLFormElement>(`#${id}`)?.submit(), form);
      await arrived;
      expect((await answer).status(), `${form} by ${origin}`).toBe(
        form === "vote" && origin.includes("localhost") ? 415 : 403,
      );
    }
    await foreign.goto(origin);
    const results = await foreign.evaluate(
      async ([url, body]) => {
        const attempt = (init: RequestInit) =>
          fetch(`${url}/query`, { method: "POST", credentials: "include", body, ...init }).then(
            ({ type }) => type,
            () => "failed",
          );
        const socket = new WebSocket(`${url?.replace("http", "ws")}/query`, "graphql-transport-ws");
        const connected = new Promise((resolve) => {
          socket.onopen = () => resolve("open");
          socket.onerror = () => resolve("failed");
        });
        return [
          await attempt({ headers: { "Content-Type": "application/json" } }),
          await attempt({ mode: "no-cors" }),
          await connected,
        ];
      },
      [server.url, query],
    );
    expect(results, origin).toEqual(["failed", "opaque", "failed"]);
    await foreign.close();
  }
  evil.close();
  expect((await server.article({ id })).votes).toBe(before);
  await page.reload();
  await signedIn(page, "alice");
  expect(await provider.control("renewals")).toBe("0");
});

test("while the provider is away, the site can be read, and the page says so", async ({
  page,
  server,
  provider,
  watch,
}) => {
  watch.allowed.push(/status of 503/);
  await provider.control("away", "true");
  await server.stop();
  await server.start();
  await page.goto("/");
  await expect(rows(page)).toHaveCount(25);
  await banner(page).getByRole("link", { name: "Sign in" }).click();
  await expect(page.getByRole("heading")).toHaveText("You are not signed in");
  await expect(page.getByText("The sign-in service does not answer.")).toBeVisible();
  await provider.control("away", "false");
  await expect(async () => {
    await page.getByRole("link", { name: "Try again" }).click({ timeout: 2000 });
    await expect(page.locator("[name=username]")).toBeVisible({ timeout: 2000 });
  }).toPass();
  await signInAs(page, "alice");
  await signedIn(page, "alice");
  await expect(page).toHaveURL("/");
});
