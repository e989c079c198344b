import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Locator, Page, Route } from "@playwright/test";
import type { AxeResults } from "axe-core";
import { expect, test } from "./fixtures";
import type { Server } from "./server";

/** The articles of a list on the page. */
export const rows = (page: Page): Locator => page.locator("li[data-id]");

/** One article, in a list or on its own page. */
export const shown = (page: Page, { id }: { id: string }): Locator => page.locator(`[data-id="${id}"]`);

export const votes = (article: Locator): Locator => article.locator(".count");
export const up = (article: Locator): Locator => article.getByRole("button", { name: "Vote up" });
export const down = (article: Locator): Locator => article.getByRole("button", { name: "Vote down" });

/** A button with exactly this name. */
export const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });

export const banner = (page: Page): Locator => page.getByRole("banner");

/** Waits until the page shows who is signed in. */
export const signedIn = (page: Page, name: string): Promise<void> =>
  expect(banner(page).getByRole("link", { name, exact: true })).toBeVisible();

/** Waits until the page offers to sign in. */
export const signedOut = (page: Page): Promise<void> =>
  expect(banner(page).getByRole("link", { name: "Sign in" })).toBeVisible();

/** Signs out with the menu at the top. */
export async function signOut(page: Page): Promise<void> {
  await button(page, "Menu").click();
  await button(page, "Sign out").click();
}

/** The message at the bottom of the page. */
export const message = (page: Page): Locator => page.locator(".message");

export const ids = (list: Locator): Promise<(string | undefined)[]> =>
  list.evaluateAll((rows) => rows.map((row) => row.dataset.id));

export async function expectIds(page: Page, articles: { id: string }[]): Promise<void> {
  await expect.poll(() => ids(rows(page))).toEqual(articles.map(({ id }) => id));
}

/** Intercepts the requests of an operation, such as Vote. */
export function onOperation(page: Page, name: string, handle: (route: Route) => unknown): Promise<unknown> {
  return page.route("**/query", (route) =>
    route.request().postDataJSON()?.operationName === name ? handle(route) : route.fallback(),
  );
}

/** A promise that the test resolves by calling `open`. */
export function gate(): { open: () => void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Articles as CSV, each 10 minutes older than the previous one. */
export function manyArticles(count: number): string {
  const now = Math.floor(Date.now() / 1000);
  const lines = [...Array(count).keys()].map(
    (i) => `${i + 1},Article ${i + 1},https://example.org/${i + 1},${(i * 7) % 40},ben,${now - i * 600},many`,
  );
  return `id,title,link,votes,poster,posted_at,groups\n${lines.join("\n")}\n`;
}

/** An entry of the menu of an article on its page, also while that is closed. */
export const action = (page: Page, name: string): Locator =>
  page.locator("#acts").getByRole("button", { name, exact: true, includeHidden: true });

/** Chooses an entry of the menu of an article: on its page, or of its row. */
export async function choose(of: Page | Locator, name: string): Promise<void> {
  await of.getByRole("button", { name: "More", exact: true }).click();
  await of.getByRole("button", { name, exact: true }).click();
}

/** An article on a page for moderators. */
export const caseOf = (page: Page, { id }: { id: string }): Locator => page.locator(`[data-case="${id}"]`);

/** Reports an article. */
export async function flag(
  server: Server,
  { id }: { id: string },
  by: string,
  reason = "OTHER",
  note?: string,
): Promise<void> {
  const { flag } = await server.execute<{ flag: { userErrors: object[] } }>(
    "mutation ($input: FlagInput!) { flag(input: $input) { userErrors { message } } }",
    { input: { target: id, reason, note } },
    by,
  );
  expect(flag.userErrors).toEqual([]);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Reports accessibility problems of a page as soft failures: the test continues. */
export async function check(page: Page, what: string): Promise<void> {
  await test.step(what, async () => {
    await page.evaluate(axe);
    const { violations } = await page.evaluate<AxeResults>(
      'axe.run({ rules: { "target-size": { enabled: true } }, resultTypes: ["violations"] })',
    );
    const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
    expect.soft(found, what).toEqual([]);
  });
}

/** Formats seconds as the site does, in the largest unit: "15 hours". */
export function lasting(seconds: number): string {
  const units = [86400, 3600, 60].map((size, i) => [
    Math.floor(seconds / size),
    ["day", "hour", "minute"][i],
  ]);
  const [count, unit] = units.find(([count]) => count) ?? [];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
