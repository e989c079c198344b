import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, outage, test } from "./fixtures";
import { expectIds, message, rows, shown, up, votes } from "./helpers";

const notice = "No connection to the server. This page may be out of date until the connection is back.";

test.beforeEach(({ watch }) => void watch.allowed.push(outage));

test("the page reports a stopped server, and updates when it is back @core", async ({ page, server }) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/");
  await expectIds(page, [two, one]);
  await expect(page.getByText(notice)).toHaveCount(0);
  await server.stop();
  await expect(page.getByText(notice)).toBeVisible();
  await expectIds(page, [two, one]);

  await server.start();
  await server.vote(one, "UP", "cleo");
  await server.vote(one, "UP", "dan");
  await server.post({ title: "Three" });
  await server.post({ title: "Four" });
  await expect(page.getByText(notice)).toHaveCount(0);
  await expect(votes(shown(page, one))).toHaveText("3");
  await expect(votes(shown(page, two))).toHaveText("1");
  await expect(page.getByRole("button", { name: "2 new articles" })).toBeVisible();
  await expectIds(page, [two, one]);

  await server.vote(two, "UP", "eve");
  await expect(votes(shown(page, two))).toHaveText("2");
  await server.post({ title: "Five" });
  await expect(page.getByRole("button", { name: "3 new articles" })).toBeVisible();
  await up(shown(page, two)).click();
  await expect(votes(shown(page, two))).toHaveText("3");
});

test("a group and an article's page update when the server is back", async ({ page, another, server }) => {
  const article = await server.post({ title: "One", groups: ["go"] });
  const own = await another("cleo");
  await page.goto("/g/go");
  await own.goto(`/a/${article.number}`);
  for (const window of [page, own]) await expect(votes(shown(window, article))).toHaveText("1");
  await server.stop();
  for (const window of [page, own]) await expect(window.getByText(notice)).toBeVisible();
  await server.start();
  await server.vote(article, "DOWN", "dan");
  await server.vote(article, "DOWN", "eve");
  await server.post({ title: "Elsewhere" });
  await server.post({ title: "Here", groups: ["go"] });
  for (const window of [page, own]) {
    await expect(window.getByText(notice)).toHaveCount(0);
    await expect(votes(shown(window, article))).toHaveText("−1");
  }
  await expect(page.getByRole("button", { name: "new article" })).toHaveText("1 new article");
  await server.vote(article, "UP", "dan");
  for (const window of [page, own]) await expect(votes(shown(window, article))).toHaveText("1");
});

test("a vote during an outage is undone, and the page says so", async ({ page, server }) => {
  const article = await server.post({ title: "One" });
  await page.goto("/");
  await expectIds(page, [article]);
  await server.stop();
  await expect(page.getByText(notice)).toBeVisible();
  await up(shown(page, article)).click();
  await expect(message(page)).toContainText("The server cannot be reached.");
  await expect(votes(shown(page, article))).toHaveText("1");
  await server.start();
  await expect(page.getByText(notice)).toHaveCount(0);
  await up(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("2");
  await expect.poll(async () => (await server.article(article)).votes).toBe(2);
});

test("a list that failed to load is retried automatically and on request", async ({ page, server }) => {
  const article = await server.post({ title: "One", groups: ["go"] });
  await page.goto("/");
  await expectIds(page, [article]);
  await server.stop();
  await expect(page.getByText(notice)).toBeVisible();
  await page.getByRole("link", { name: "New", exact: true }).click();
  await expect(page.getByRole("main").getByRole("alert")).toContainText("The server cannot be reached.");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(rows(page)).toHaveCount(0);
  await server.start();
  await expect(page.getByText(notice)).toHaveCount(0);
  await expectIds(page, [article]);
});

test("the page reports that the browser is offline, and updates afterwards", async ({
  page,
  context,
  server,
}) => {
  const article = await server.post({ title: "One" });
  await page.goto("/");
  await expectIds(page, [article]);
  await context.setOffline(true);
  await expect(page.getByText(notice)).toBeVisible();
  await server.vote(article, "UP", "cleo");
  await server.post({ title: "Two" });
  await context.setOffline(false);
  await expect(page.getByText(notice)).toHaveCount(0);
  await expect(votes(shown(page, article))).toHaveText("2");
  await expect(page.getByRole("button", { name: "1 new article" })).toBeVisible();
  await server.vote(article, "UP", "dan");
  await expect(votes(shown(page, article))).toHaveText("3");
});

test.describe("a browser with the page for when none can be loaded", () => {
  test.use({
    serviceWorkers: "allow",
    settings: { FRONTPAGE_SITE_NAME: "Gophers", FRONTPAGE_SITE_ACCENT: "#8a1c5a" },
  });

  test("shows it, and then the page it was asked for", async ({ page, server }) => {
    await server.post({ title: "One" });
    await page.goto("/");
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.reload();
    await expect(rows(page)).toHaveCount(1);
    await server.stop();
    await page.goto("/new");
    await expect(page).toHaveTitle("No connection · Gophers");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("No connection");
    await expect(page.locator(".brand img")).toHaveJSProperty("naturalWidth", 150);
    const again = page.getByRole("link", { name: "Try again" });
    await expect(again).toHaveCSS("background-color", "rgb(138, 28, 90)");
    await again.click();
    await expect(page).toHaveTitle("No connection · Gophers");
    await server.start();
    await again.click();
    await expect(page).toHaveTitle("New articles · Gophers");
    await expect(rows(page)).toHaveCount(1);
  });

  test("loads a changed one", async ({ page, server }) => {
    await page.goto("/");
    await page.evaluate(() => navigator.serviceWorker.ready);
    await server.stop();
    await server.start({ FRONTPAGE_SITE_NAME: "Badgers" });
    const kept = () => page.evaluate(async () => (await (await caches.match("/offline"))?.text()) ?? "");
    expect(await kept()).toContain("Gophers");
    await page.reload();
    await expect.poll(kept).toContain("Badgers");
  });
});

const stored = test.extend<{ store: { url: string; start(): Promise<void>; stop(): Promise<void> } }>({
  // A store that can go away while its server stays.
  // biome-ignore lint/correctness/noEmptyPattern: Playwright requires the pattern, and the fixture has no dependencies
  store: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
    const socket = join(folder, "socket");
    let redis: ChildProcess | undefined;
    const start = async () => {
      const options = ["--port", "0", "--unixsocket", socket, "--dir", folder, "--appendonly", "yes"];
      redis = spawn("redis-server", options, { stdio: ["ignore", "pipe", "ignore"] });
      for await (const line of createInterface({ input: redis.stdout as NodeJS.ReadableStream }))
        if (/ready to accept connections/i.test(line)) return;
      throw new Error("redis-server did not start");
    };
    const stop = async () => {
      if (!redis) return;
      const ended = once(redis, "exit");
      redis.kill();
      await ended;
      redis = undefined;
    };
    await start();
    await use({ url: `unix://${socket}`, start, stop });
    await stop();
    rmSync(folder, { recursive: true });
  },
  settings: ({ store }, use) => use({ REDIS_URL: store.url }),
});

stored("the page says that the store is away, until it is back", async ({ page, server, store }) => {
  const away = page.getByText("The server cannot reach its store.");
  const article = await server.post({ title: "One" });
  await page.goto("/");
  await expectIds(page, [article]);
  await store.stop();
  await expect(away).toHaveCount(0);
  await up(shown(page, article)).click();
  await expect(away).toBeVisible();
  await expect(message(page)).toContainText("Your vote may not have been counted.");
  await expect(votes(shown(page, article))).toHaveText("1");

  await store.start();
  await expect(away).toHaveCount(0);
  await up(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("2");
  await expect.poll(async () => (await server.article(article)).votes).toBe(2);
});
