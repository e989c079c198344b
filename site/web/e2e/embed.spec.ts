import { once } from "node:events";
import { createServer, type Server as HTTPServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test as base, expect } from "./fixtures";
import type { Article } from "./server";

// A page of another origin: a port of its own, which serves a page with buttons and a strict policy.
interface Blog {
  url: string;
  body: string;
}

const test = base.extend<{ blog: Blog }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright asks for a pattern
  blog: async ({}, use) => {
    const blog: Blog = { url: "", body: "" };
    let site = "";
    const server: HTTPServer = createServer((request, response) => {
      site = new URL(request.url ?? "/", "http://blog").searchParams.get("site") ?? site;
      response.setHeader("Content-Type", "text/html");
      response.setHeader(
        "Content-Security-Policy",
        `default-src 'none'; script-src ${site}; connect-src ${site}; img-src data:; require-trusted-types-for 'script'`,
      );
      response.end(
        `<!doctype html><title>Blog</title><link rel="icon" href="data:,"><script type="module" src="${site}/embed/vote.js"></script>${blog.body}`,
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    blog.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await use(blog);
    server.close();
    server.closeAllConnections();
  },
  settings: async ({ blog }, use) => use({ FRONTPAGE_EMBED_ORIGINS: blog.url }),
});

const buttons = (articles: Article[]) =>
  articles
    .map(({ id, number }) => `<p id="a${number}"><frontpage-vote article="${id}"></frontpage-vote></p>`)
    .join("");

test.beforeEach(({ blog, watch }) => {
  watch.origins.push(blog.url);
});

test("a page of another origin shows votes, and gets the visitor's vote from the window @core", async ({
  page,
  server,
  blog,
}) => {
  const link = "https://example.org/post";
  const [one, two] = [
    await server.post({ title: "One" }),
    await server.post({ title: "Two", link, text: undefined }),
  ];
  blog.body = `${buttons([one])}<p id="link"><frontpage-vote link="${link}"></frontpage-vote></p><p id="own"><frontpage-vote></frontpage-vote></p>`;
  const reads: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/embed/votes")) reads.push(request.url());
  });
  await page.goto(`${blog.url}/?site=${server.url}`);
  const button = page.locator("#a1 frontpage-vote").getByRole("button");
  const linked = page.locator("#link frontpage-vote").getByRole("button");
  await expect(button).toHaveText("▲ 1");
  await expect(linked).toHaveText("▲ 1");
  await expect(page.locator("#own frontpage-vote").getByRole("button")).toBeDisabled();
  expect(reads, "one request for all buttons").toHaveLength(1);

  // Another user's vote comes by itself.
  await server.vote(two, "UP", "eve");
  await expect(linked).toHaveText("▲ 2", { timeout: 60_000 });

  const events = page.evaluate(
    () =>
      new Promise((resolve) => addEventListener("vote", (event) => resolve((event as CustomEvent).detail))),
  );
  const opened = page.waitForEvent("popup");
  await button.click();
  const window = await opened;
  await expect(window.getByRole("heading")).toHaveText("One");
  const up = window.getByRole("button", { name: "Vote up: One" });
  await up.click();
  await expect(up).toHaveAttribute("aria-pressed", "true");
  await expect(button).toHaveText("▲ 2");
  await expect(button).toHaveAttribute("aria-pressed", "true");
  expect(await events).toEqual({ votes: 2, viewerVote: "UP" });
  expect((await server.article(one, "ada")).viewerVote).toBe("UP");
  await up.click();
  await expect(button).toHaveText("▲ 1");
  await expect(button).toHaveAttribute("aria-pressed", "false");
  await window.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => window.isClosed()).toBe(true);
});

test.describe("without a sign-in", () => {
  test.use({ viewer: "" });

  test("the window leads to it, and then counts the vote", async ({ page, server, blog, context, watch }) => {
    watch.allowed.push(/status of 401/);
    const article = await server.post({ title: "One" });
    blog.body = buttons([article]);
    await page.goto(`${blog.url}/?site=${server.url}`);
    const button = page.locator("frontpage-vote").getByRole("button");
    const opened = page.waitForEvent("popup");
    await button.click();
    const window = await opened;
    const up = window.getByRole("button", { name: "Vote up: One" });
    await up.click();
    const signIn = context.waitForEvent("page");
    await window.getByRole("link", { name: "Sign in to vote" }).click();
    const form = await signIn;
    await form.getByLabel("Name").fill("zoe");
    await form.getByRole("button", { name: "Sign in" }).click();
    await expect(form.getByRole("banner").getByRole("link", { name: "zoe" })).toBeVisible();
    await form.close();
    await up.click();
    await expect(button).toHaveText("▲ 2");
    expect((await server.article(article, "zoe")).viewerVote).toBe("UP");
  });
});

test("a page of an origin that is not allowed has numbers, and no votes", async ({
  page,
  server,
  blog,
  watch,
}) => {
  watch.allowed.push(/status of 403/);
  blog.body = buttons([await server.post({ title: "One" })]);
  const other = blog.url.replace("127.0.0.1", "localhost");
  watch.origins.push(other);
  await page.goto(`${other}/?site=${server.url}`);
  const button = page.locator("frontpage-vote").getByRole("button");
  await expect(button).toHaveText("▲ 1");
  const opened = page.waitForEvent("popup");
  await button.click();
  await expect((await opened).locator("body")).toContainText("may not have this button");
});
