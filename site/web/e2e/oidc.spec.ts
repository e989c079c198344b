import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "./fixtures";
import { banner, down, gate, manyArticles, message, rows, signedIn, signedOut, up, votes } from "./helpers";
import { signInAs, test } from "./provider";
import type { Article } from "./server";

test.use({ viewer: "", csv: manyArticles(60) });
test.beforeEach(({ watch, provider }) => void watch.origins.push(provider.url));
test.slow(); // several processes start, and a session is noticed to have ended within 30 s

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

test("a window whose cookie ended while it had no connection says that it is signed out", async ({
  page,
  context,
  watch,
}) => {
  watch.allowed.push(/WebSocket|ERR_INTERNET_DISCONNECTED/);
  await page.goto("/new");
  await banner(page).getByRole("link", { name: "Sign in" }).click();
  await signInAs(page, "alice");
  await signedIn(page, "alice");
  await context.setOffline(true);
  await context.clearCookies({ name: "frontpage-session" });
  await context.setOffline(false);
  await expect(message(page)).toHaveText("You have been signed out. Please sign in again.");
  await signedOut(page);
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
  await expect(page.getByText("The sign-in service does not answer or has a fault.")).toBeVisible();
  await provider.control("away", "false");
  await expect(async () => {
    await page.getByRole("link", { name: "Try again" }).click({ timeout: 2000 });
    await expect(page.locator("[name=username]")).toBeVisible({ timeout: 2000 });
  }).toPass();
  await signInAs(page, "alice");
  await signedIn(page, "alice");
  await expect(page).toHaveURL("/");
});
