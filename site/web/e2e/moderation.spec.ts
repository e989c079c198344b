import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import {
  action,
  button,
  caseOf,
  check,
  choose,
  flag,
  manyArticles,
  message,
  onOperation,
  shown,
} from "./helpers";
import type { Article, Server } from "./server";

test.use({ settings: { FRONTPAGE_MODERATORS: "mod,meg" }, viewer: "mod" });

/** Posts articles and reports each, the first one first. */
async function reported(server: Server, ...titles: string[]): Promise<Article[]> {
  const articles: Article[] = [];
  for (const title of titles) {
    const article = await server.post({ title });
    await flag(server, article, "cleo", "SPAM");
    articles.push(article);
  }
  return articles;
}

const cases = (page: Page): Locator => page.locator("[data-case]");
const title = (page: Page, article: { id: string }): Locator => caseOf(page, article).locator(".title");

test("moderators decide reports by keyboard alone, and a second window follows @core", async ({
  page,
  server,
  another,
}) => {
  const link = "https://example.org/offer";
  const ad = await server.post({ title: "Buy now", link });
  await flag(server, ad, "cleo", "SPAM", "an ad\n<b>again</b>");
  await flag(server, ad, "dan", "SPAM");
  await flag(server, ad, "eve", "OFF_TOPIC");
  const [fine, insult, mistake, last] = (await reported(server, "Fine", "Insult", "Mistake", "Last")) as [
    Article,
    Article,
    Article,
    Article,
  ];
  const second = await another("meg");
  await second.goto("/mod");
  await expect(cases(second)).toHaveCount(5);

  await page.goto("/");
  await button(page, "Menu").click();
  await page.getByRole("link", { name: "Moderation" }).press("Enter");
  await expect(page).toHaveURL("/mod");
  await expect(cases(page)).toHaveCount(5);
  await expect(caseOf(page, ad)).toContainText("Reported by 3: advertising (2), off topic (1) · just now");
  await expect(caseOf(page, ad)).toContainText("an ad\n<b>again</b>");
  await expect(caseOf(page, ad).getByRole("link", { name: "example.org" })).toHaveAttribute("href", link);

  await page.keyboard.press("j");
  await expect(title(page, ad)).toBeFocused();
  await expect(caseOf(page, ad)).toHaveAttribute("aria-current", "true");
  const [tab] = await Promise.all([page.waitForEvent("popup"), page.keyboard.press("Enter")]);
  await expect(tab).toHaveURL(`/a/${ad.number}`);
  await tab.close();
  // Removed at once, its reason follows in words.
  await page.keyboard.press("d");
  await expect(title(page, fine)).toBeFocused();
  await expect(caseOf(page, ad)).toContainText("Removed.");
  await page.keyboard.press("3");
  await page.keyboard.type("jokes about dx, an advertisement");
  await page.keyboard.press("Control+Enter");
  await expect(caseOf(page, ad)).toContainText("Removed. Another reason: jokes about dx, an advertisement");
  await expect(title(page, fine)).toBeFocused();
  // Kept.
  await page.keyboard.press("x");
  await expect(caseOf(page, fine)).toContainText("Kept.");
  await expect(title(page, insult)).toBeFocused();
  // Removed with a ground alone.
  await page.keyboard.press("d");
  await expect(caseOf(page, insult)).toContainText("Removed.");
  await page.keyboard.press("1");
  await expect(caseOf(page, insult)).toContainText("Removed. Against the rules of this site.");
  // Removed and undone.
  await expect(title(page, mistake)).toBeFocused();
  await page.keyboard.press("d");
  await expect(caseOf(page, mistake).getByRole("button", { name: "Undo" })).toBeVisible();
  await page.keyboard.press("u");
  await expect(caseOf(page, mistake)).toContainText("The article is back.");
  await expect(title(page, last)).toBeFocused();
  await page.keyboard.press("k");
  await expect(title(page, mistake)).toBeFocused();
  expect((await server.article(mistake)).title).toBe("Mistake");

  // Nothing has moved in the other window, and all but one are decided.
  for (const article of [ad, fine, insult, mistake])
    await expect(caseOf(second, article)).toContainText("mod decided this.", { timeout: 8000 });
  await expect(cases(second).locator(".title")).toHaveText(["Buy now", "Fine", "Insult", "Mistake", "Last"]);
  await expect(caseOf(second, last).getByRole("button", { name: "Keep" })).toBeVisible();

  // The poster reads the reason.
  const poster = await another("ben");
  await poster.goto(`/a/${ad.number}`);
  await expect(poster.getByRole("main")).toContainText("Another reason: jokes about dx, an advertisement");
  // A user who is no moderator sees the sentence.
  const anyone = await another("");
  await anyone.goto("/mod");
  await anyone.getByRole("main").getByRole("link", { name: "sign in" }).click();
  await expect(anyone).toHaveURL("/signin?to=%2Fmod");
  await poster.goto("/mod");
  await expect(poster.getByRole("main")).toContainText("This page is for moderators.");
  await expect(poster.getByRole("link", { name: "Removed" })).toHaveCount(0);
  await button(poster, "Menu").click();
  await expect(poster.getByRole("link", { name: "Your votes" })).toBeVisible();
  await expect(poster.getByRole("link", { name: "Moderation" })).toHaveCount(0);
});

test("of two moderators who decide at once, one learns that the other was faster", async ({
  page,
  server,
  another,
  watch,
}) => {
  watch.allowed.push(/ERR_FAILED/);
  const [one, two] = (await reported(server, "One", "Two")) as [Article, Article];
  const second = await another("meg");
  // The second window does not follow the queue after its first reading.
  let readings = 0;
  await onOperation(second, "Queue", (route) => (readings++ > 0 ? route.abort() : route.continue()));
  await second.goto("/mod");
  await expect(cases(second)).toHaveCount(2);
  await page.goto("/mod");
  await caseOf(page, one).getByRole("button", { name: "Keep" }).click();
  await expect(caseOf(page, one)).toContainText("Kept.");
  await expect(title(page, two)).toBeFocused();
  await caseOf(second, one).getByRole("button", { name: "Remove" }).click();
  await expect(caseOf(second, one)).toContainText("Another moderator decided this.");
  await expect(caseOf(second, one).getByRole("button")).toHaveCount(0);
  expect((await server.article(one)).title).toBe("One");
});

test("new reports come to the end of the page, and keys wait for plain presses", async ({ page, server }) => {
  const [one, two] = (await reported(server, "One", "Two")) as [Article, Article];
  await page.goto("/mod");
  await expect(cases(page)).toHaveCount(2);
  await page.keyboard.press("j");
  await expect(title(page, one)).toBeFocused();
  for (const key of ["Control+d", "Alt+x", "Meta+d"]) await page.keyboard.press(key);
  await expect(caseOf(page, one).getByRole("button", { name: "Keep" })).toBeVisible();
  const urgent = await server.post({ title: "Urgent" });
  await flag(server, urgent, "dan", "ILLEGAL");
  await expect(cases(page)).toHaveCount(3, { timeout: 8000 });
  await expect(cases(page).locator(".title")).toHaveText(["One", "Two", "Urgent"]);
  await expect(title(page, one)).toBeFocused();
  // What is reported again after a decision is open again.
  await page.keyboard.press("x");
  await expect(caseOf(page, one)).toContainText("Kept.");
  await expect(title(page, two)).toBeFocused();
  await flag(server, one, "eve", "ABUSE");
  await expect(caseOf(page, one)).toContainText("Reported by 1: insults or threats (1)", { timeout: 8000 });
  await expect(caseOf(page, one).getByRole("button", { name: "Keep" })).toBeVisible();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(help).toContainText("remove the article");
  await page.keyboard.press("d");
  await expect(caseOf(page, two).getByRole("button", { name: "Keep" })).toBeAttached();
  await page.keyboard.press("?");
  await expect(help).toBeHidden();
});

test("removed articles are restored, and the log has what was done", async ({ page, server }) => {
  const [one] = (await reported(server, "One", "Two")) as [Article];
  await page.goto("/mod");
  await caseOf(page, one).getByRole("button", { name: "Remove" }).click();
  await expect(caseOf(page, one)).toContainText("Removed.");
  await page.getByRole("link", { name: "Removed" }).click();
  await expect(page).toHaveURL("/mod/removed");
  await expect(caseOf(page, one)).toContainText("deleted just now by mod");
  // Its reason was not given yet.
  await page.keyboard.press("j");
  await page.keyboard.press("1");
  await expect(caseOf(page, one)).toContainText("Against the rules of this site.");
  await page.keyboard.press("r");
  await expect(caseOf(page, one)).toContainText("The article is back.");
  await expect(message(page)).toContainText("The article is back.");
  await page.getByRole("link", { name: "Log" }).click();
  await expect(page).toHaveURL("/mod/log");
  await expect(cases(page).first()).toContainText("One");
  await expect(cases(page).first()).toContainText("mod · restored");
  await expect(cases(page)).toHaveCount(4);
  for (const path of ["/mod/removed", "/mod/denied", "/mod/log"]) {
    await page.goto(path);
    await expect(page.getByRole("main").locator("[data-case], .empty")).not.toHaveCount(0);
  }
});

test("a denied user reads why, until a moderator ends it by keyboard", async ({ page, server, another }) => {
  const one = await server.post({ title: "One" });
  const input = { user: "eve", until: "2099-01-03T12:00:00.000Z", reason: "ads" };
  const deny = "mutation ($input: DenyUserInput!) { denyUser(input: $input) { userErrors { message } } }";
  await server.execute(deny, { input }, "mod");
  const eve = await another("eve");
  await eve.goto(`/a/${one.number}`);
  await eve.locator(".votes .up").first().click();
  await expect(message(eve)).toContainText("3 January 2099");
  await expect(message(eve)).toContainText("ads");

  await page.goto("/mod");
  await page.getByRole("link", { name: "Denied users" }).press("Enter");
  await expect(page).toHaveURL("/mod/denied");
  await expect(cases(page)).toContainText("by mod · Against the rules of this site: ads");
  await page.keyboard.press("j");
  await expect(cases(page).locator(".title")).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(cases(page)).toContainText("The denial of eve has ended.");
  await page.reload();
  await expect(page.getByRole("heading", { name: "No user is denied changes." })).toBeVisible();
  await check(page, "denied users");
});

test.describe("with many reports", () => {
  test.use({ csv: manyArticles(50) });

  test("50 articles are decided in one sitting", async ({ page, server, another }) => {
    for (let number = 1; number <= 50; number++)
      await flag(server, { id: `article:${number}` }, `user${number}`, "OTHER", `note ${number}`);
    const second = await another("meg");
    await second.goto("/mod");
    await expect(cases(second)).toHaveCount(20);
    await button(second, "More").click();
    await expect(cases(second)).toHaveCount(40);
    await page.goto("/mod");
    await expect(cases(page)).toHaveCount(20);
    await page.keyboard.press("j");
    for (let number = 1; number <= 50; number++) {
      // The next ones arrive without a click.
      await expect(title(page, { id: `article:${number}` })).toBeFocused({ timeout: 8000 });
      await page.keyboard.press(number % 2 ? "x" : "d");
      if (number % 20 === 0 || number === 50) {
        await expect(page.locator("[data-open]")).toHaveCount(0);
        if (number < 50) await expect(page.locator("[data-open]")).not.toHaveCount(0, { timeout: 8000 });
        if (number < 50) await page.keyboard.press("j");
      }
    }
    await expect(page.getByText("Kept.", { exact: true })).toHaveCount(25);
    await expect(page.getByText("Removed.", { exact: true })).toHaveCount(25);
    await expect(second.locator("[data-open]")).toHaveCount(0, { timeout: 12_000 });
    await expect(caseOf(second, { id: "article:1" })).toContainText(/(mod|Another moderator) decided this\./);
    await expect(caseOf(second, { id: "article:40" })).toContainText("mod decided this.");
    const { articlesConnection } = await server.execute<{ articlesConnection: { totalCount: number } }>(
      "{ articlesConnection(first: 1) { totalCount } }",
    );
    expect(articlesConnection.totalCount).toBe(25);
    // What was removed without a reason waits for one.
    await page.reload();
    await expect(page.getByText("Removed without a reason")).toHaveCount(25);
  });
});

test.describe("a user", () => {
  test.use({ viewer: "cleo" });

  test("reports an article, whose poster cannot", async ({ page, server, another }) => {
    const article = await server.post({ title: "One" });
    await page.goto(`/a/${article.number}`);
    await choose(page, "Report");
    await page.getByLabel("What is wrong with it?").selectOption({ label: "posted before" });
    await page.getByLabel("In words").fill("as article 7");
    await button(page, "Report the article").click();
    await expect(message(page)).toContainText("Thank you.");
    await expect(button(page, "More")).toBeFocused();

    const moderator = await another("mod");
    await moderator.goto("/mod");
    await expect(caseOf(moderator, article)).toContainText("Reported by 1: posted before (1)");
    await expect(caseOf(moderator, article)).toContainText("as article 7 (cleo)");
    const poster = await another("ben");
    await poster.goto(`/a/${article.number}`);
    await expect(button(poster, "Share")).toBeVisible();
    await expect(action(poster, "Report")).toHaveCount(0);
    await expect(shown(poster, article)).toBeVisible();
  });
});

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in ${colorScheme}`, () => {
    test.use({ colorScheme, contextOptions: { reducedMotion: "reduce" } });

    test("axe finds no problems on the pages for moderators", async ({ page, server }) => {
      const [one, two] = (await reported(server, "One", "Two", "Three")) as [Article, Article];
      await page.goto("/mod");
      await caseOf(page, one).getByRole("button", { name: "Remove" }).click();
      await expect(caseOf(page, one).getByRole("button", { name: "Undo" })).toBeVisible();
      await caseOf(page, two).getByRole("button", { name: "Keep" }).click();
      await expect(caseOf(page, two)).toContainText("Kept.");
      await check(page, "reports");
      await page.goto("/mod/removed");
      await expect(cases(page)).toHaveCount(1);
      await check(page, "what was removed");
      await page.goto("/mod/log");
      await expect(cases(page)).not.toHaveCount(0);
      await check(page, "the log");
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog")).toBeVisible();
      await check(page, "the keys");
      await page.goto("/a/2");
      await choose(page, "Report");
      await expect(page.getByLabel("In words")).toBeVisible();
      await check(page, "the form to report");
    });
  });
}
