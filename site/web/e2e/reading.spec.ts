import { expect, test } from "./fixtures";
import { button, choose, expectIds, lasting, rows, shown, votes } from "./helpers";

test.use({ demo: true });

const hour = 3_600_000; // milliseconds

test("the front page is ordered by score, and shows the numbers of the API", async ({ page, server }) => {
  await page.goto("/");
  const first = (await server.articles()).slice(0, 25);
  await expectIds(page, first);
  await expect(rows(page).locator(".title")).toHaveText(first.map(({ title }) => title));
  await expect(votes(rows(page))).toHaveText(first.map(({ votes }) => `${votes}`));
  await expect(rows(page).locator(".rank")).toHaveText(first.map((_, i) => `${i + 1}`));
});

test("new articles are ordered by time", async ({ page, server }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "New", exact: true }).click();
  await expect(page).toHaveURL("/new");
  await expect(page).toHaveTitle("New articles · Frontpage");
  await expectIds(page, (await server.articles("TIME")).slice(0, 25));
});

test("a group lists its articles by score and by time", async ({ page, server }) => {
  await page.goto("/g/science");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("science");
  await expectIds(page, await server.articles("SCORE", "science"));
  await page.getByRole("navigation", { name: "Order" }).getByRole("link", { name: "New" }).click();
  await expect(page).toHaveURL("/g/science/new");
  await expectIds(page, await server.articles("TIME", "science"));
});

test("groups are listed with their number of articles, and link to them", async ({ page, server }) => {
  const { groups } = await server.execute<{ groups: { nodes: { name: string; articleCount: number }[] } }>(
    "{ groups(first: 100, orderBy: ARTICLE_COUNT) { nodes { name articleCount } } }",
  );
  await page.goto("/groups");
  await expect(page.getByRole("main").getByRole("listitem")).toHaveText(
    groups.nodes.map(({ name, articleCount }) => new RegExp(`^${name} ?${articleCount} articles?$`)),
  );
  await page.getByRole("link", { name: /^history/ }).click();
  await expect(page).toHaveURL("/g/history");
  await expectIds(page, await server.articles("SCORE", "history"));
});

test("a user's page lists their articles, newest first", async ({ page, server }) => {
  await page.goto("/");
  const all = await server.articles("TIME");
  const name = (await server.articles())[0]?.poster.name ?? "";
  await rows(page).first().getByRole("link", { name, exact: true }).click();
  await expect(page).toHaveURL(`/u/${name}`);
  await expectIds(
    page,
    all.filter(({ poster }) => poster.name === name),
  );
});

test("an article's page shows its text with clickable web links @core", async ({ page, server }) => {
  const article = await server.post({
    title: "Of tides",
    text: "First line.\n<b>Not bold</b>, see https://example.org/tides?a=1&b=2.",
    groups: ["sea"],
  });
  await page.goto(`/a/${article.number}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Of tides");
  await expect(page).toHaveTitle("Of tides · Frontpage");
  await expect(page.locator(".text")).toHaveText(
    "First line.\n<b>Not bold</b>, see https://example.org/tides?a=1&b=2.",
  );
  await expect(page.locator(".text a")).toHaveAttribute("href", "https://example.org/tides?a=1&b=2");
  await expect(page.getByRole("link", { name: "Group sea" })).toHaveAttribute("href", "/g/sea");
  await page.goto("/a/999999");
  await expect(page.getByRole("heading")).toHaveText("Article not found");
});

test("only interesting articles are marked and listed in the group interesting", async ({ page, server }) => {
  const all = await server.articles();
  await page.goto("/");
  await expect(rows(page)).toHaveCount(25);
  for (const article of [
    all.find(({ isInteresting }) => isInteresting),
    all.find(({ isInteresting }) => !isInteresting),
  ]) {
    await page.goto(`/a/${article?.number}`);
    const mark = page.getByRole("link", { name: "interesting" });
    await expect(mark, article?.title).toHaveCount(article?.isInteresting ? 1 : 0);
  }
  await page.getByRole("link", { name: "Top", exact: true }).click();
  await page.getByRole("link", { name: "Interesting", exact: true }).click();
  await expectIds(
    page,
    all.filter(({ isInteresting }) => isInteresting),
  );
});

test("the page shows the time left to vote, or that voting has ended", async ({ page, server }) => {
  const article = await server.post({ title: "Quick" });
  await page.clock.install();
  await page.goto(`/a/${article.number}`);
  const facts = page.locator(".facts").last();
  await expect(facts).toContainText("just now");
  await expect(facts).toContainText(/[67] days left to vote/);
  await expect(page.getByRole("button", { name: "Vote up" })).toBeEnabled();
  await page.clock.fastForward(167.5 * hour);
  await expect(facts).toContainText(/(29|30) minutes left to vote/);
  await page.clock.fastForward(0.6 * hour);
  await expect(facts).toContainText("voting has ended");
  await expect(page.getByRole("button", { name: "Vote up" })).toBeDisabled();
  await expect(page.locator(".votes svg").first()).toBeHidden();
});

test("a printed page has the articles and their addresses, and nothing to press", async ({
  page,
  server,
}) => {
  await server.post({ title: "To print", link: "https://example.org/print", groups: ["print"] });
  await page.goto("/new");
  await expect(page.locator(".votes svg").first()).toBeVisible();
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("link", { name: "To print" })).toBeVisible();
  for (const hidden of [
    page.getByRole("banner"),
    page.getByRole("contentinfo"),
    page.locator(".votes svg").first(),
    button(page, "More"),
  ])
    await expect(hidden).toBeHidden();
  const after = await page
    .locator(".title")
    .first()
    .evaluate((title) => getComputedStyle(title, "::after").content);
  expect(after).toContain("https://example.org/print");
  await expect(page.locator(".row .host").first()).toBeHidden();
  for (const path of ["/g/print", "/groups", "/past", "/top/day", "/lab"]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.waitForLoadState("networkidle");
    const pressed = page
      .getByRole("main")
      .locator("nav a, button, .button, input:not([type=radio], [type=range])");
    await expect(pressed.filter({ visible: true }).filter({ hasNot: page.locator(".count") })).toHaveCount(0);
  }
});

test("a row explains what its votes are worth, and what it takes to pass the one above @core", async ({
  page,
  server,
}) => {
  const [above, article] = (await server.articles()).slice(3, 5);
  if (!above || !article) throw new Error("too few articles");
  await page.goto("/");
  const row = shown(page, article);
  await choose(row, "Why it ranks here");

  const bonus = article.votes * 432;
  expect(article.score).toBe(Date.parse(article.createdAt) / 1000 + bonus);
  const why = row.locator(".why");
  await expect(why).toContainText(
    `With ${article.votes} votes, it stays ahead of articles without votes that are up to ${lasting(bonus)} newer. Each vote makes up for 7 min 12 s of age.`,
  );
  const more = Math.floor((above.score - article.score) / 432) + 1;
  await expect(why).toContainText(`${more} more vote${more > 1 ? "s" : ""} would move it above`);

  await choose(row, "Why it ranks here");
  await expect(why).toHaveCount(0);
});

for (const width of [1280, 390])
  test(`a slow connection shows the list at once, and nothing moves when the script comes: ${width} px @core`, async ({
    page,
    server,
  }) => {
    await page.setViewportSize({ width, height: 844 });
    const article = await server.post({ title: "Slow", groups: ["slow"] });
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 300,
      downloadThroughput: 50_000,
      uploadThroughput: 20_000,
    });
    await page.addInitScript(() => {
      const shifts: string[] = [];
      Object.assign(globalThis, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          for (const { node } of (entry as unknown as { sources: { node: Node | null }[] }).sources)
            if (node instanceof Element && !node.closest(".who")) shifts.push(node.outerHTML.slice(0, 100)); // its name
      }).observe({ type: "layout-shift", buffered: true });
    });
    let show = () => {};
    const seen = new Promise<void>((resolve) => {
      show = resolve;
    });
    await page.route("**/*.js", async (route) => {
      await seen; // however fast the machine is, the list is there before the script
      await route.continue();
    });
    await page.goto("/g/slow", { waitUntil: "commit" });
    await expect(shown(page, article)).toBeVisible();
    show();
    await expect(page.locator(".menu fieldset")).toBeAttached();
    await expect(button(page, "Follow")).toBeVisible();
    const moved = await page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts);
    expect(moved).toEqual([]);
    await page.getByRole("button", { name: "Vote up" }).click();
    await expect(votes(shown(page, article))).toHaveText("2");
  });
