import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { signOut } from "./helpers";
import type { Article, Server } from "./server";

test.setTimeout(120_000);

const region = (page: Page, name: string) => page.getByRole("region", { name });
const response = (page: Page) => region(page, "Result Window");
const run = (page: Page) => page.getByRole("button", { name: "Execute query" });

/** Replaces the text of an editor. Typing would trigger automatic brackets and indentation. */
async function paste(editor: Locator, text: string): Promise<void> {
  const input = editor.getByRole("textbox", { name: "Editor content" });
  await input.focus();
  await input.press("Control+A");
  await input.evaluate((area, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

async function open(page: Page): Promise<void> {
  await page.goto("/graphiql");
  await expect(region(page, "Operation Editor")).toContainText("FrontPage");
}

/** Enters an operation, and waits until its name is shown in the tab. */
async function write(page: Page, operation: string): Promise<void> {
  await paste(region(page, "Operation Editor"), operation);
  const name = /^\w+ (\w+)/.exec(operation)?.[1] ?? "";
  await expect(page.getByRole("tab", { selected: true })).toContainText(name);
}

/** Votes until the result shows it: the subscription starts a moment after it was sent. */
async function showsVote(page: Page, server: Server, article: Article): Promise<void> {
  await expect(async () => {
    for (const direction of ["NONE", "UP"] as const) await server.vote(article, direction, "cleo");
    await expect(response(page)).toContainText('"votes": 2', { timeout: 1000 });
  }).toPass();
}

test("a query runs, and its fields are checked against the schema", async ({ page, server }) => {
  await server.post({ title: "One to explore" });
  await open(page);
  await run(page).click();
  await expect(response(page)).toContainText("One to explore");
  await expect(response(page)).toContainText('"name": "ada"'); // who is signed in on the site
  await expect(page.getByText("Signed in as ada", { exact: true })).toBeVisible();
  const wrong = region(page, "Operation Editor").locator(".squiggly-error");
  await write(page, "query Wrong { articles { titel } }");
  await expect(wrong).not.toHaveCount(0);
  await write(page, 'query Right { article(id: "article:1") { number votes } }');
  await expect(wrong).toHaveCount(0);
  await run(page).click();
  await expect(response(page)).toContainText('"votes": 1');
  await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
  await expect(page.locator(".graphiql-doc-explorer")).toContainText(
    "A site where users post articles and vote",
  );
  await page.getByRole("link", { name: "Query", exact: true }).click();
  await expect(page.locator(".graphiql-doc-explorer")).toContainText("articlesConnection");
  await page.getByRole("link", { name: "← Frontpage" }).click();
  await expect(page).toHaveURL("/");
});

test("a mutation runs as the user in the headers", async ({ page, server }) => {
  await open(page);
  await write(
    page,
    'mutation Mine { post(input: { title: "By hand", text: "Words." }) { article { id poster { name } } userErrors { message } } }',
  );
  await page.getByRole("button", { name: "Headers" }).click();
  await paste(region(page, "Headers"), '{ "X-User-ID": "eve" }');
  await run(page).click();
  await expect(response(page)).toContainText('"name": "eve"');
  expect(await server.articles()).toMatchObject([{ title: "By hand", poster: { name: "eve" } }]);
});

test("a subscription shows votes as they arrive @core", async ({ page, server, watch }) => {
  const article = await server.post({ title: "Watched" });
  await open(page);
  await write(page, 'subscription Mine { articleChanged(ids: ["article:1"]) { votes viewerVote } }');
  await run(page).click();
  await watch.live(page, "articleChanged");
  await showsVote(page, server, article);
  for (const [name, votes] of [
    ["dan", 3],
    ["ada", 4],
  ] as const) {
    await server.vote(article, "UP", name);
    await expect(response(page)).toContainText(`"votes": ${votes}`);
  }
  await expect(response(page)).toContainText('"viewerVote": "UP"');
  await expect(response(page)).toContainText(/"votes":\s4[\s\S]*"votes":\s3/); // all events, the newest first
  await page.getByRole("button", { name: "Stop query" }).click();
  await expect(run(page)).toBeVisible();
});

test("a subscription with a condition is checked, runs, and can be written in steps", async ({
  page,
  server,
  watch,
}) => {
  const article = await server.post({ title: "Watched" });
  await page.goto("/playground");
  await expect(page).toHaveURL("/graphiql");
  await open(page);
  const wrong = region(page, "Operation Editor").locator(".squiggly-error");
  for (const unfinished of ["@include", "@include(if: $x)", '@include(if: "x")']) {
    await write(page, `subscription Mine { articleChanged(ids: ["article:1"]) ${unfinished} { votez } }`);
    await expect.poll(() => wrong.count(), unfinished).toBeGreaterThan(1); // that, and the field
  }
  await write(
    page,
    'subscription Mine($x: Boolean = true) { articleChanged(ids: ["article:1"]) @include(if: $x) { votes } }',
  );
  await expect(wrong).toHaveCount(0);
  await run(page).click();
  await watch.live(page, "articleChanged");
  await showsVote(page, server, article);
});

test("the examples run", async ({ page, server, watch }) => {
  watch.allowed.push(/status of (400|422)/);
  for (const title of ["One", "Two", "Three"]) await server.post({ title });
  await open(page);
  for (const [tab, expected] of [
    ["Walk", '"totalCount": 3'],
    ["Post", '"title": "Hello"'],
    ["Vote", '"viewerVote": "UP"'],
  ] as const) {
    await page.getByRole("tab", { name: tab, exact: true }).click();
    // The editor detects the name of the operation a moment after its tab is opened.
    await expect(async () => {
      await run(page).click();
      await expect(response(page)).toContainText(expected, { timeout: 1000 });
    }).toPass();
  }
});

test("the user is who is signed in on the site, now and in the tabs that the browser has kept", async ({
  another,
}) => {
  const page = await another("");
  const expectViewer = async (name: string) => {
    await open(page);
    await run(page).click();
    await expect(response(page)).toContainText(`"name": "${name}"`);
  };
  await expectViewer("alice"); // signed out, the headers name the user
  await expect(page.getByText("Not signed in", { exact: true })).toBeVisible();
  for (const name of ["zoë", "cleo"]) {
    await page.goto("/signin?to=/new");
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page).toHaveURL("/new");
    await expectViewer(name);
    await expect(page.getByText(`Signed in as ${name}`, { exact: true })).toBeVisible();
  }
  await page.goto("/new");
  await signOut(page);
  await expectViewer("alice");
});

test.describe("with tokens", () => {
  test.use({ settings: { FRONTPAGE_JWT_SECRET: "a secret of at least thirty-two bytes" }, viewer: "" });

  test("reading works without a token, and an invalid token is reported", async ({ page, watch }) => {
    watch.allowed.push(/status of 401/);
    await open(page);
    await write(page, "query Me { viewer { name } }");
    await run(page).click();
    await expect(response(page)).toContainText('"viewer": null');
    await page.getByRole("button", { name: "Headers" }).click();
    await paste(region(page, "Headers"), '{ "Authorization": "Bearer nonsense" }');
    await run(page).click();
    await expect(response(page)).toContainText("TOKEN_INVALID");
  });
});
