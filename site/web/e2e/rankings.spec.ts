import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { expectIds, gate, lasting, manyArticles, onOperation, rows, shown, up, votes } from "./helpers";
import type { Server } from "./server";

/** The ids of a ranking, by the API. */
async function ranking(server: Server, parameters: string): Promise<{ id: string }[]> {
  const { ranking } = await server.execute<{ ranking: { nodes: { id: string; title: string }[] } }>(
    `{ ranking(${parameters}) { nodes { id title } } }`,
  );
  return ranking.nodes;
}

test.describe("top articles", () => {
  test.use({ csv: manyArticles(60) });

  test("have a page for each span, in the order of their votes", async ({ page, server }) => {
    await page.goto("/");
    await page.getByRole("link", { name: "Top", exact: true }).click();
    await expect(page).toHaveURL("/top/day");
    await expect(page).toHaveTitle("Top of the last 24 hours · Frontpage");
    for (const [tab, span] of [
      ["Week", "WEEK"],
      ["Month", "MONTH"],
      ["Year", "YEAR"],
      ["All time", "ALL"],
      ["Day", "DAY"],
    ] as const) {
      await page.getByRole("navigation", { name: "Span" }).getByRole("link", { name: tab }).click();
      await expect(page).toHaveURL(`/top/${span.toLowerCase()}`);
      const articles = await ranking(server, `span: ${span}, first: 25`);
      expect(articles).toHaveLength(25);
      await expect.poll(async () => (await rows(page).all()).length).toBeGreaterThanOrEqual(25);
      expect((await rows(page).locator(".title").allTextContents()).slice(0, 25)).toEqual(
        articles.map(({ title }: { id: string; title?: string }) => title),
      );
    }
    const nav = page.getByRole("navigation", { name: "Site" });
    await expect(nav.getByRole("link", { name: "Top" })).toHaveAttribute("aria-current", "page");
  });

  test("are paged by cursors with addresses, in the order of the first page", async ({ page, server }) => {
    const all = await ranking(server, "span: ALL, first: 60");
    await page.goto("/top/all");
    await expect(rows(page)).not.toHaveCount(0);
    await expect(async () => {
      await page.getByRole("contentinfo").scrollIntoViewIfNeeded();
      expect(await rows(page).count()).toBe(all.length);
    }).toPass({ timeout: 120_000 });
    await expectIds(page, all);
    await expect(rows(page).locator(".rank")).toHaveText(all.map((_, i) => `${i + 1}`));
    await rows(page).last().scrollIntoViewIfNeeded();
    await expect(page).toHaveURL(/\/top\/all\?after=/);
    const address = page.url();

    await page.reload();
    await expectIds(page, all);
    const other = await page.context().newPage();
    await other.goto(address);
    await expect(other.getByText("further down this list")).toBeVisible();
    expect(all.slice(25).map(({ id }) => id)).toContain(await rows(other).first().getAttribute("data-id"));
  });

  test("show votes at once, and say nothing of the score", async ({ page, server }) => {
    await page.goto("/top/day");
    const [first] = await ranking(server, "span: DAY, first: 1");
    if (!first) throw new Error("no articles");
    const row = shown(page, first);
    const before = Number(await votes(row).textContent());
    await up(row).click();
    await expect(votes(row)).toHaveText(`${before + 1}`);
    await row.getByRole("button", { name: "More" }).click();
    await expect(page.getByRole("button", { name: "Share" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Why it ranks here" })).toHaveCount(0);
  });
});

test.describe("one's votes", () => {
  test("are listed, the latest first, by direction @core", async ({ page, server }) => {
    const articles = [];
    for (const title of ["One", "Two", "Three"]) articles.push(await server.post({ title }));
    const [one, two, three] = articles;
    if (!one || !two || !three) throw new Error("too few articles");
    await page.goto("/u/ada");
    await page.getByRole("link", { name: "Your votes" }).click();
    await expect(page).toHaveURL("/votes");
    await expect(page.getByRole("heading", { name: "No votes yet" })).toBeVisible();

    await server.vote(two, "UP", "ada");
    await server.vote(one, "DOWN", "ada");
    await server.vote(three, "UP", "cleo");
    const tab = (name: string) =>
      page.getByRole("navigation", { name: "Direction" }).getByRole("link", { name }).click();
    await page.reload();
    // Both may have been cast in the same second.
    const { viewerVotes } = await server.execute<{ viewerVotes: { edges: { node: { id: string } }[] } }>(
      "{ viewerVotes { edges { node { id } } } }",
      {},
      "ada",
    );
    expect(viewerVotes.edges.map(({ node }) => node.id).sort()).toEqual([one.id, two.id].sort());
    await expectIds(
      page,
      viewerVotes.edges.map(({ node }) => node),
    );
    await expect(shown(page, one)).toContainText("you voted just now");
    await expect(shown(page, one).getByRole("button", { name: "Vote down" })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
    await tab("Up");
    await expect(page).toHaveURL("/votes/up");
    await expectIds(page, [two]);
    await tab("Down");
    await expectIds(page, [one]);
  });

  test.describe("signed out", () => {
    test.use({ viewer: "" });

    test("need a sign-in, which returns to them", async ({ page }) => {
      await page.goto("/votes");
      await page.getByRole("main").getByRole("link", { name: "sign in" }).click();
      await expect(page).toHaveURL("/signin?to=%2Fvotes");
      await page.getByLabel("Name").fill("ada");
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page).toHaveURL("/votes");
      await expect(page.getByRole("heading", { name: "No votes yet" })).toBeVisible();
    });
  });
});

/** The full hour of now, plus a number of hours. */
function hours(offset: number): { day: string; hour: number } {
  const time = new Date(Math.floor(Date.now() / 3_600_000 + offset) * 3_600_000);
  return { day: time.toISOString().slice(0, 10), hour: time.getUTCHours() };
}

/** Loads the front page, and returns the articles of its answer, the last one first. */
async function onFrontPage(page: Page) {
  const list = page.waitForResponse(
    (response) => response.request().postDataJSON()?.operationName === "Articles",
  );
  await page.goto("/");
  return (await (await list).json()).data.articlesConnection.nodes.reverse();
}

test.describe("a past hour with many articles on a phone", () => {
  test.use({ csv: manyArticles(25), viewport: { width: 390, height: 844 } });

  test("has all of them once the visitor scrolls", async ({ page }) => {
    const nodes = await onFrontPage(page);
    let answers = 0;
    await onOperation(page, "Past", async (route) => {
      answers++;
      const response = await route.fetch();
      const json = await response.json();
      const edge = (node: object, i: number) => ({ __typename: "FrontPageEdge", rank: i + 1, node });
      json.data.frontPage = { __typename: "FrontPage", edges: nodes.map(edge) };
      await route.fulfill({ response, json });
    });
    await page.goto("/past/2026-11-20?hour=18");
    await expect(rows(page)).toHaveCount(10);
    await page.getByRole("link", { name: "New", exact: true }).click();
    await expect(page).toHaveURL("/new");
    await page.goBack();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await expectIds(page, nodes);
    expect(answers).toBe(1);
  });
});

test.describe("the front page of a past hour", () => {
  test.use({ csv: manyArticles(5) });

  // The store of a test is younger than a full hour, so the page gets an answer that has the articles of now.
  test("has the ranks of then, the votes of now, and room for deleted articles @core", async ({ page }) => {
    const nodes = await onFrontPage(page);
    await onOperation(page, "Past", async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const edges = [...nodes.slice(0, 2), null, ...nodes.slice(2)].map((node, i) => ({
        __typename: "FrontPageEdge",
        rank: i + 1,
        node,
      }));
      expect(json.data.frontPage).toBeNull();
      json.data.frontPage = { __typename: "FrontPage", edges };
      expect(route.request().postDataJSON().variables).toEqual({ at: "2026-11-20T18:00:00.000Z" });
      await route.fulfill({ response, json });
    });
    await page.goto("/past/2026-11-20?hour=18");
    await expect(page.getByText("as it stood at 18:00 UTC")).toBeVisible();
    await expectIds(page, nodes);
    await expect(rows(page).locator(".rank")).toHaveText(["1", "2", "4", "5", "6"]);
    await expect(page.getByText("This article has been deleted.")).toHaveCount(1);
    const first = shown(page, nodes[0]);
    await up(first).click();
    await expect(votes(first)).toHaveText(`${nodes[0].votes + 1}`);
  });

  test("can be chosen by day and hour", async ({ page }) => {
    await page.goto("/");
    await page.getByRole("link", { name: "Past", exact: true }).click();
    // The site was not there 24 hours ago: the newest page is shown.
    await expect(page.getByLabel("Day", { exact: true })).toHaveValue(hours(0).day);
    const yesterday = hours(-24);
    await page.getByRole("link", { name: "Day before" }).click();
    await expect(page.getByLabel("Day", { exact: true })).toHaveValue(yesterday.day);
    await expect(page.getByLabel("Hour, UTC")).toHaveValue(`${yesterday.hour}`);
    await page.getByRole("link", { name: "Day before" }).click();
    await expect(page).toHaveURL(`/past/${hours(-48).day}?hour=${yesterday.hour}`);
    await page.getByRole("link", { name: "Day after" }).click();
    await expect(page).toHaveURL(`/past/${yesterday.day}?hour=${yesterday.hour}`);
    await page.getByLabel("Day", { exact: true }).fill("2020-02-29");
    await page.getByLabel("Hour, UTC").fill("7");
    await page.getByRole("button", { name: "Show" }).click();
    await expect(page).toHaveURL("/past/2020-02-29?hour=7");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Front page of 2020-02-29");
    await expect(page.getByRole("heading", { name: "No front page of this hour" })).toBeVisible();
    await page.getByRole("link", { name: "See the latest one" }).click();
    await expect(page.getByLabel("Day", { exact: true })).toHaveValue(hours(0).day);
    await expect(page.getByRole("link", { name: "Day after" })).toHaveCount(0);
  });
});

test.describe("the ranking lab", () => {
  test.use({ demo: true });

  const slider = (page: Page) => page.getByRole("slider");

  test("ranks the articles again as its controls move, by keyboard @core", async ({ page, server }) => {
    await page.goto("/lab");
    await expectIds(
      page,
      await ranking(server, "by: {formula: GRAVITY, gravity: 1.8}, span: WEEK, first: 25"),
    );
    await expect(slider(page)).toHaveAttribute("aria-valuetext", "1.8");
    await slider(page).focus();
    await page.keyboard.press("Home");
    await expectIds(
      page,
      await ranking(server, "by: {formula: GRAVITY, gravity: 0.1}, span: WEEK, first: 25"),
    );
    await page.keyboard.press("ArrowRight");
    await expect(page).toHaveURL("/lab?formula=GRAVITY&gravity=0.2&span=WEEK");

    await page.getByRole("radio", { name: "Half-life" }).check();
    await expectIds(
      page,
      await ranking(server, "by: {formula: HALF_LIFE, halfLife: 21600}, span: WEEK, first: 25"),
    );
    await expect(slider(page)).toHaveAttribute("aria-valuetext", "6 h");
    await page.getByRole("radio", { name: "Linear" }).check();
    await expect(slider(page)).toHaveAttribute("aria-valuetext", "7 min 12 s");
    await expectIds(
      page,
      await ranking(server, "by: {formula: LINEAR, voteScore: 432}, span: WEEK, first: 25"),
    );
    await page.getByRole("radio", { name: "Top" }).check();
    await page.getByRole("radio", { name: "Day" }).check();
    await expectIds(page, await ranking(server, "by: {formula: TOP}, span: DAY, first: 25"));
    await expect(slider(page)).toHaveCount(0);
    await expect(page).toHaveURL("/lab?formula=TOP&span=DAY");
  });

  test("asks once for many moves, and shows the answer of the last", async ({ page, server }) => {
    await page.goto("/lab");
    await expect(rows(page)).toHaveCount(25);
    let asked = 0;
    const { open, opened } = gate();
    await onOperation(page, "Lab", async (route) => {
      asked++;
      await opened;
      await route.continue();
    });
    await slider(page).focus();
    for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowRight");
    await expect.poll(() => asked).toBeGreaterThanOrEqual(1);
    expect(asked).toBeLessThan(10);
    await page.keyboard.press("End");
    open();
    await expectIds(page, await ranking(server, "by: {formula: GRAVITY, gravity: 5}, span: WEEK, first: 25"));
  });

  test("has its state in the address", async ({ page, server }) => {
    await page.goto("/lab?formula=HALF_LIFE&halfLife=13560&span=ALL");
    await expectIds(
      page,
      await ranking(server, "by: {formula: HALF_LIFE, halfLife: 13560}, span: ALL, first: 25"),
    );
    await expect(slider(page)).toHaveAttribute("aria-valuetext", "3 h 46 min");
    await page.getByRole("radio", { name: "Month" }).check();
    await expect(page).toHaveURL("/lab?formula=HALF_LIFE&halfLife=13560&span=MONTH");
    await rows(page).first().getByRole("link").click();
    await expect(page).toHaveURL(/\/a\/\d+$/);
    await page.goBack();
    await expect(page.getByRole("radio", { name: "Month" })).toBeChecked();
    await expect(slider(page)).toHaveAttribute("aria-valuetext", "3 h 46 min");
  });

  test("shows the request, which gives the same articles", async ({ page, context, server }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto("/lab?formula=GRAVITY&gravity=1.2&span=WEEK");
    await page.getByRole("button", { name: "Copy the GraphQL document" }).click();
    await expect(page.getByText("Copied.")).toBeVisible();
    const document = await page.evaluate(() => navigator.clipboard.readText());
    const { ranking } = await server.execute<{ ranking: { nodes: { id: string }[] } }>(document);
    await expectIds(page, ranking.nodes);
    await expect(page.locator("pre").nth(1)).toContainText(`curl -s ${server.url}/query `);
  });

  test("says how far articles are from their places on the front page", async ({ page, server }) => {
    await page.goto("/lab?formula=TOP&span=ALL");
    const front = (await server.articles()).map(({ id }) => id);
    const top = await ranking(server, "span: ALL, first: 25");
    await expectIds(page, top);
    const moves = top.map(({ id }, i) => {
      const from = front.indexOf(id);
      return from === i ? "=" : `${from > i ? "▲" : "▼"}${Math.abs(from - i)}`;
    });
    await expect(rows(page).locator(".move > [aria-hidden]")).toHaveText(moves);
  });

  test("draws the site's rule beside the chosen one", async ({ page }) => {
    await page.goto("/lab?formula=HALF_LIFE&halfLife=86400");
    const plot = page.getByRole("img", {
      name: /After 24 hours: 21 by this formula, 210 by the site's rule/,
    });
    await expect(plot.locator("path")).toHaveCount(2);
    const line = () => plot.locator("path.chosen").getAttribute("d");
    const before = await line();
    await slider(page).focus();
    await page.keyboard.press("Home");
    await expect(page.getByRole("img", { name: /over a billion by this formula/ })).toBeVisible();
    expect(await page.locator("path.chosen").getAttribute("d")).not.toBe(before);
  });
});

test("an article's page says how many votes its goals need", async ({ page, server }) => {
  const posted = [];
  for (let i = 0; i < 12; i++) posted.push(await server.post({ title: `Number ${i}` }));
  const [first, last] = [posted[0], posted.at(-1)];
  if (!first || !last) throw new Error("too few articles");
  for (const name of ["cleo", "dan", "eve"])
    for (const article of posted.slice(1)) await server.vote(article, "UP", name);
  await page.goto(`/a/${first.number}`);
  const goal = (name: string) => page.locator(".standing dl div").filter({ hasText: name }).locator("dd");
  const { article } = await server.execute<{ article: { first: number; tenth: number } }>(
    "query ($id: ID!) { article(id: $id) { first: votesToReach(rank: 1) tenth: votesToReach(rank: 10) } }",
    { id: first.id },
  );
  await expect(goal("To the first 10")).toHaveText(`${article.tenth} votes`);
  await expect(goal("To the first 30")).toHaveCount(0); // it is among them
  for (let i = 0; i < article.first; i++) await server.vote(first, "UP", `voter${i}`);
  await expect(page.locator(".standing dd")).toHaveCount(0);
});

test("an article's page draws where it stood", async ({ page, server }) => {
  const { number } = await server.post({ title: "One" });
  const ranks = [null, 40, 12, 3, null, 5].map((rank, i) => ({
    __typename: "RankAt",
    at: `2026-11-20T0${i}:00:00.000Z`,
    rank,
  }));
  await onOperation(page, "Standing", async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    json.data.article.ranks = ranks;
    json.data.article.bestRank = { __typename: "BestRank", rank: 3, at: "2026-11-20T03:00:00.000Z" };
    await route.fulfill({ response, json });
  });
  await page.goto(`/a/${number}`);
  await expect(page.locator(".standing > div")).toContainText(/Rank 5 at .*20 Nov.*, best 3/);
  const plot = page.getByRole("img", { name: "Rank over time: best 3, since 20 Nov, 09:00" });
  // Two lines: they are interrupted where the article was not among the first 100.
  expect((await plot.locator("path").getAttribute("d"))?.match(/M/g)).toHaveLength(2);
});

test.describe("by another rule of the site", () => {
  for (const [settings, explained] of [
    [{ FRONTPAGE_RANKING: "halflife:6h" }, "Each doubling of an article's votes counts as 6 h."],
    [
      { FRONTPAGE_RANKING: "capped:10m" },
      "Each net vote counts as 7.2 minutes, all together as 10 min at most.",
    ],
  ] as const) {
    test.describe(settings.FRONTPAGE_RANKING, () => {
      test.use({ settings });

      test("a vote shows the score that the server will give, at once", async ({ page, server }) => {
        const article = await server.post({ title: "One" });
        await server.vote(article, "UP", "cleo");
        await page.goto(`/a/${article.number}`);
        await expect(page.getByRole("contentinfo")).toContainText(explained);
        const score = page.locator(".why");
        const { open, opened } = gate();
        await onOperation(page, "Vote", async (route) => {
          await opened;
          await route.continue();
        });
        await up(page.locator("article")).click();
        await expect(votes(page.locator("article"))).toHaveText("3");
        const optimistic = await score.textContent();
        open();
        await expect.poll(async () => (await server.article(article)).votes).toBe(3);
        const { score: real } = await server.article(article);
        const bonus = real - Date.parse(article.createdAt) / 1000;
        expect(optimistic).toContain(
          `With 3 votes, it stays ahead of articles without votes that are up to ${lasting(bonus)} newer.`,
        );
      });
    });
  }
});

test("pages of the second script offer to try again if it cannot be loaded", async ({
  page,
  server,
  watch,
}) => {
  watch.allowed.push(/ERR_FAILED/);
  await server.post({ title: "One" });
  await page.route(/\/later-.*\.js$/, (route) => route.abort());
  await page.goto("/");
  await page.getByRole("link", { name: "Groups" }).click();
  await expect(page.getByRole("alert")).toContainText("could not be loaded");
  await page.unroute(/\/later-.*\.js$/);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page).toHaveURL("/groups");
  await expect(page.getByRole("heading", { name: "Groups", exact: true })).toBeVisible();
});
