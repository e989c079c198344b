import type { Page } from "@playwright/test";
import { test as base, expect } from "./fixtures";
import { choose, down, message, rows, shown, up, votes } from "./helpers";
import { Relay } from "./relay";
import type { Server } from "./server";

const test = base.extend<{ relay: Relay }>({
  relay: async ({ server }, use) => {
    const relay = new Relay(server.url);
    await relay.start();
    await use(relay);
    await relay.stop();
  },
  origin: ({ relay }, use) => use(relay.url),
});

const stored = async (server: Server, article: { id: string }) => {
  const { votes, viewerVote } = await server.article(article, "ada");
  return `${votes} ${viewerVote}`;
};

for (const late of ["arrives after the page is read again", "is lost"]) {
  test(`a vote counts after a reload, if its request ${late}`, async ({ page, server, relay }) => {
    const article = await server.post({ title: "One" });
    await page.goto("/");
    const first = relay.hold("Vote");
    await up(shown(page, article)).click();
    await first.arrived(1);
    await expect(votes(shown(page, article))).toHaveText("2");
    await page.reload();
    await expect(votes(shown(page, article))).toHaveText("2");
    await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
    if (late !== "is lost") first.release();
    await expect.poll(() => stored(server, article)).toBe("2 UP");
    await up(shown(page, article)).click();
    await expect(votes(shown(page, article))).toHaveText("1");
    await expect.poll(() => stored(server, article)).toBe("1 NONE");
  });
}

test("a vote counts after a reload, if only its response is lost", async ({ page, server, relay }) => {
  const article = await server.post({ title: "One" });
  await page.goto(`/a/${article.number}`);
  const response = relay.holdResponse("Vote");
  await up(shown(page, article)).click();
  await response.arrived(1);
  await server.vote(article, "UP", "cleo");
  await page.reload();
  await expect(votes(shown(page, article))).toHaveText("3");
  await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
  expect(await stored(server, article)).toBe("3 UP");
});

test("a page that is loaded after a vote shows nothing older @core", async ({ page, server, relay }) => {
  const article = await server.post({ title: "One" });
  await page.goto("/");
  const both = relay.hold("Vote", 2);
  await up(shown(page, article)).click();
  await both.arrived(1);
  await page.reload();
  await both.arrived(2);
  await expect(rows(page)).toHaveCount(0);
  both.release();
  await expect(votes(shown(page, article))).toHaveText("2");
  expect(await stored(server, article)).toBe("2 UP");
});

test("votes that wait for an earlier one count, if the page is reloaded", async ({ page, server, relay }) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/");
  const held = relay.hold("Vote");
  await up(shown(page, one)).click();
  await held.arrived(1);
  for (const [button, count] of [
    [up, "2"],
    [up, "1"],
    [down, "0"],
  ] as const) {
    await button(shown(page, two)).click();
    await expect(votes(shown(page, two))).toHaveText(count);
  }
  await page.reload();
  await expect(votes(shown(page, one))).toHaveText("2");
  await expect(votes(shown(page, two))).toHaveText("0");
  await expect(down(shown(page, two))).toHaveAttribute("aria-pressed", "true");
  held.release();
  expect(await stored(server, one)).toBe("2 UP");
  expect(await stored(server, two)).toBe("0 DOWN");
});

test("votes count if the window is closed before the response @core", async ({ page, server, relay }) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/");
  const held = relay.hold("Vote");
  await up(shown(page, one)).click();
  await held.arrived(1);
  await up(shown(page, two)).click();
  await expect(votes(shown(page, two))).toHaveText("2");
  await page.close();
  await expect.poll(() => stored(server, two)).toBe("2 UP");
  held.release();
  await expect.poll(() => stored(server, one)).toBe("2 UP");
});

test("a vote counts after a visit to another site", async ({ page, server, relay, watch }) => {
  const article = await server.post({ title: "One" });
  watch.origins.push(server.url);
  await page.goto("/");
  relay.hold("Vote");
  await up(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("2");
  await page.goto(`${server.url}/healthz`);
  await page.goBack();
  await expect(votes(shown(page, article))).toHaveText("2");
  await expect.poll(() => stored(server, article)).toBe("2 UP");
});

test("a repeated vote that fails may not have counted, and the page says so", async ({
  page,
  server,
  relay,
  watch,
}) => {
  watch.allowed.push(/ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/);
  const article = await server.post({ title: "One" });
  await page.goto("/");
  const held = relay.hold("Vote");
  await up(shown(page, article)).click();
  await held.arrived(1);
  relay.cut("Vote");
  await page.reload();
  await expect(message(page)).toHaveText(
    "The server cannot be reached. Your last vote may not have been counted.",
  );
  await expect(votes(shown(page, article))).toHaveText("1");
});

test("a post is published once if the page is reloaded before the response @core", async ({
  page,
  server,
  relay,
}) => {
  await page.goto("/submit");
  const held = relay.hold("Post");
  await page.getByLabel("Title").fill("Only once");
  await page.getByLabel("Text").fill("Words.");
  await page.getByRole("button", { name: "Post" }).click();
  await held.arrived(1);
  await page.reload();
  await expect(page).toHaveURL("/a/1");
  await expect(message(page)).toHaveText("Your article has been posted.");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Only once");
  held.release();
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  await expect(page.getByLabel("Title")).toHaveValue("");
  expect((await server.articles()).map(({ title }) => title)).toEqual(["Only once"]);
});

test("a refused post is saved if the page is left before the response", async ({ page, server, relay }) => {
  await server.post({ title: "First", link: "https://example.org/" });
  await page.goto("/submit");
  relay.hold("Post");
  await page.getByLabel("Title").fill("Second");
  await page.getByLabel("Link").fill("https://example.org/");
  await page.getByRole("button", { name: "Post" }).click();
  await expect(page.getByRole("button", { name: "Posting" })).toBeVisible();
  await page.goto("/");
  await expect(message(page)).toContainText("Your last post may not have been published.");
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  await expect(page.getByLabel("Title")).toHaveValue("Second");
});

test("an article is deleted if the page is left before the response", async ({ page, server, relay }) => {
  const article = await server.post({ title: "Own" }, "ada");
  await page.goto(`/a/${article.number}`);
  const held = relay.hold("Delete");
  await choose(page, "Delete");
  await page.getByRole("button", { name: "Delete the article" }).click();
  await held.arrived(1);
  await page.goto("/");
  await expect(message(page)).toHaveText("The article has been deleted.");
  await expect(page.getByRole("heading", { name: "Welcome" })).toBeVisible();
  held.release();
  expect(await server.articles()).toEqual([]);
});

const leave = async (page: Page) => {
  const dialog = page.waitForEvent("dialog");
  await page.close({ runBeforeUnload: true });
  expect((await dialog).type()).toBe("beforeunload");
  await (await dialog).dismiss();
};

test("the page asks before it is left with a request that is too large to survive", async ({
  page,
  relay,
}) => {
  await page.goto("/submit");
  const held = relay.hold("Post");
  await page.getByLabel("Title").fill("Long");
  await page.getByLabel("Text").fill("ö".repeat(40_000));
  await page.getByRole("button", { name: "Post" }).click();
  await held.arrived(1);
  await leave(page);
  held.release();
  await expect(page.getByLabel("Text")).toHaveAccessibleDescription(/10,?000/);
});

test("the page asks before it is left with a vote that could overtake another", async ({
  page,
  server,
  relay,
}) => {
  const article = await server.post({ title: "One" });
  await page.goto("/");
  const held = relay.hold("Vote");
  await up(shown(page, article)).click();
  await held.arrived(1);
  await up(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("1");
  await leave(page);
  held.release();
  await expect.poll(() => stored(server, article)).toBe("1 NONE");
});
