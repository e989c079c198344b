import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { expectIds, gate, ids, manyArticles, onOperation, rows, shown } from "./helpers";

test.use({ csv: manyArticles(120) });

const top = (page: Page, article: { id: string }) =>
  shown(page, article)
    .boundingBox()
    .then((box) => Math.round(box?.y ?? Number.NaN));

/** Scrolls to the end of the list until it has the wanted number of articles, and asks for more than 75. */
async function scrollTo(page: Page, wanted: number): Promise<void> {
  await expect(rows(page)).not.toHaveCount(0);
  for (let count = await rows(page).count(); count < wanted; count = await rows(page).count()) {
    await rows(page)
      .nth(count - 1)
      .scrollIntoViewIfNeeded();
    if (count % 75 === 0) await page.getByRole("link", { name: "More articles" }).click();
    await expect.poll(() => rows(page).count()).toBeGreaterThan(count);
  }
}

/** Scrolls to an article, and waits until the list has the parts that are near. */
async function show(page: Page, article: { id: string }): Promise<void> {
  await shown(page, article).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => {
    const more = document.querySelector(".more");
    const isNear = more && more.getBoundingClientRect().top < 1.5 * innerHeight;
    return !isNear && !document.querySelector(".skeleton");
  });
}

/** Records what each frame of the page shows: the number of rows, and where the page is scrolled to. */
const frames = () => {
  const seen = new Set<string>();
  Object.assign(globalThis, { seen });
  const look = () => {
    const rows = document.querySelectorAll("li[data-id]").length;
    if (document.querySelector("header")) seen.add(`${rows} rows at ${Math.round(scrollY)}`);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};
const recorded = (page: Page) =>
  page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen]);

/** Waits until the scroll position is saved in the history, and returns it. */
async function saved(page: Page): Promise<number> {
  await expect.poll(() => page.evaluate(() => history.state.y === scrollY && scrollY > 0)).toBe(true);
  return page.evaluate(() => Math.round(scrollY));
}

test("scrolling shows all articles, each once and in order @core", async ({ page, server }) => {
  for (const [path, articles] of [
    ["/", await server.articles("SCORE")],
    ["/g/many/new", await server.articles("TIME", "many")],
  ] as const) {
    await page.goto(path);
    await scrollTo(page, 120);
    await expectIds(page, articles);
    // Only an order by score or votes makes ranks.
    await expect(rows(page).locator(".rank")).toHaveText(
      articles.map((_, i) => (path === "/" ? `${i + 1}` : "")),
    );
    await expect(page.getByRole("link", { name: "More articles" })).toHaveCount(0);
  }
});

test("the URL follows the scroll position, and opens the list there @core", async ({
  page,
  another,
  server,
}) => {
  const articles = await server.articles();
  await page.goto("/");
  await scrollTo(page, 75);
  await show(page, articles[60] ?? { id: "" });
  await expect(page).toHaveURL(/\/\?after=./);
  const other = await another("");
  await other.goto(page.url());
  await expect(other.getByText("further down this list")).toBeVisible();
  await expect(rows(other)).not.toHaveCount(0);
  const from = articles.findIndex(({ id }) => id === articles.at(-120 + 25)?.id);
  const first = (await ids(rows(other)))[0];
  const start = articles.findIndex(({ id }) => id === first);
  expect([from, 2 * from]).toContain(start);
  await scrollTo(other, 120 - start);
  await expectIds(other, articles.slice(start));
  await other.getByRole("link", { name: "Go to the top" }).click();
  await expect(other).toHaveURL("/");
  await expectIds(other, articles.slice(0, 25));
});

test("a link leads to the next part without scrolling", async ({ page, server }) => {
  const articles = await server.articles();
  await page.goto("/");
  const link = page.getByRole("link", { name: "More articles" });
  const href = await link.getAttribute("href");
  await page.goto(href ?? "");
  await expect.poll(() => ids(rows(page)).then((all) => all[0])).toBe(articles[25]?.id);
});

for (const way of ["a link", "the address bar"]) {
  test(`the back button restores the list after leaving through ${way}`, async ({ page, server }) => {
    const articles = await server.articles();
    const article = articles[58] ?? { id: "", number: 0 };
    await page.goto("/");
    await scrollTo(page, 75);
    await show(page, article);
    await expect(page).toHaveURL(/after=/);
    // Votes arrive in between. The restored list keeps its order.
    await server.vote(articles[70] ?? { id: "" }, "UP", "cleo");
    const [before, y, address] = [await ids(rows(page)), await top(page, article), page.url()];
    if (way === "the address bar") {
      await expect.poll(() => page.evaluate(() => history.state.y === scrollY)).toBe(true);
      await page.goto(`/a/${article.number}`);
    } else {
      await shown(page, article).locator("time").click();
    }
    await expect(page.locator("article[data-id]")).toBeVisible();
    await expect(page).toHaveURL(`/a/${article.number}`);
    if (way !== "the address bar") await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    await page.goBack();
    await expect(page).toHaveURL(address);
    await expect.poll(() => top(page, article)).toBeGreaterThan(y - 3);
    await expect.poll(() => top(page, article)).toBeLessThan(y + 3);
    const after = await ids(rows(page));
    expect(after.length).toBe(before.length);
    if (way !== "the address bar") expect(after).toEqual(before);
    await scrollTo(page, 120);
  });
}

test("the back button restores the list after visiting another site", async ({ page, server }) => {
  const article = (await server.articles())[58] ?? { id: "", number: 0 };
  await page.goto("/g/many");
  await scrollTo(page, 75);
  await show(page, article);
  await saved(page);
  const [before, y] = [await ids(rows(page)), await top(page, article)];
  await page.goto("about:blank");
  await page.goBack();
  await expect(rows(page)).toHaveCount(before.length);
  await expectIds(
    page,
    before.map((id) => ({ id: id ?? "" })),
  );
  await expect.poll(() => top(page, article)).toBeGreaterThan(y - 3);
  await expect.poll(() => top(page, article)).toBeLessThan(y + 3);
});

test("a reload keeps the scroll position", async ({ page, server }) => {
  const article = (await server.articles())[58] ?? { id: "", number: 0 };
  await page.goto("/");
  await scrollTo(page, 75);
  await show(page, article);
  await saved(page);
  const y = await top(page, article);
  await page.reload();
  await expect(shown(page, article)).toBeInViewport();
  await expect.poll(() => top(page, article)).toBeGreaterThan(y - 3);
  await expect.poll(() => top(page, article)).toBeLessThan(y + 3);
});

for (const path of ["/lab", "/submit", "/a/3", "/past"]) {
  test(`a reload and the back button keep the scroll position of ${path}`, async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 320 });
    await page.goto(path);
    await page.mouse.wheel(0, 100);
    const y = await saved(page);
    await page.reload();
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(y);
    await page.getByRole("link", { name: "Groups" }).dispatchEvent("click");
    await expect(page).toHaveURL("/groups");
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    await page.goBack();
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(y);
  });
}

test("a list is not seen at another place while it is restored", async ({ page, server }) => {
  const article = (await server.articles())[58] ?? { id: "" };
  await page.goto("/");
  await scrollTo(page, 75);
  await show(page, article);
  const y = await saved(page);
  await shown(page, article).locator("time").click();
  await expect(page.locator("article[data-id]")).toBeVisible();
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
  await page.evaluate(frames);
  await page.goBack();
  await expect(rows(page)).toHaveCount(75);
  await expect.poll(() => recorded(page)).toContain(`75 rows at ${y}`);
  expect((await recorded(page)).filter((seen) => /^[1-9]/.test(seen))).toEqual([`75 rows at ${y}`]);

  await page.addInitScript(frames);
  await page.reload();
  await expect(rows(page)).toHaveCount(75);
  await expect.poll(() => recorded(page)).toContain(`75 rows at ${y}`);
  const seen = await recorded(page);
  const first = seen.indexOf("25 rows at 0"); // the server renders the part in the URL; before, the browser reads it
  expect(seen.slice(first)).toEqual(["25 rows at 0", `75 rows at ${y}`]);
});

test("a reloaded page is where it was before the script takes it over, and the visitor can scroll on", async ({
  page,
}) => {
  await page.goto("/");
  await page.mouse.wheel(0, 300);
  const y = await saved(page);
  const { open, opened } = gate();
  await onOperation(page, "Articles", async (route) => {
    await opened;
    await route.continue();
  });
  const loaded = page.reload();
  await expect(rows(page)).toHaveCount(25);
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(y);
  await page.mouse.wheel(0, 200);
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(y + 200);
  open();
  await loaded;
  await expect(page.locator(".menu fieldset")).toBeAttached();
  expect(await page.evaluate(() => scrollY)).toBe(y + 200);
});

test("back and forward restore each list as it was left @core", async ({ page, server }) => {
  const [score, time] = [await server.articles("SCORE"), await server.articles("TIME")];
  const [inTop, inNew] = [score[40] ?? { id: "" }, time[30] ?? { id: "" }];
  const site = page.getByRole("navigation", { name: "Site" });
  await page.goto("/");
  await scrollTo(page, 50);
  await show(page, inTop);
  const topStood = await top(page, inTop);
  const topRows = await rows(page).count();

  await site.getByRole("link", { name: "New" }).dispatchEvent("click");
  await expect(page).toHaveURL("/new");
  await expectIds(page, time.slice(0, 25));
  expect(await page.evaluate(() => scrollY)).toBe(0);
  await scrollTo(page, 50);
  await show(page, inNew);
  const newStood = await top(page, inNew);
  const newRows = await rows(page).count();

  await shown(page, inNew).getByRole("link", { name: "many" }).click();
  await expect(page).toHaveURL("/g/many");
  await expectIds(page, score.slice(0, 25));

  for (const turn of ["first", "second"]) {
    await page.goBack();
    await expect(page, turn).toHaveURL(/\/new/);
    await expectIds(page, time.slice(0, newRows));
    await expect.poll(() => top(page, inNew), turn).toBe(newStood);
    await page.goBack();
    await expect(page, turn).toHaveURL(/\/(\?after=.*)?$/);
    await expectIds(page, score.slice(0, topRows));
    await expect.poll(() => top(page, inTop), turn).toBe(topStood);
    await page.goForward();
    await expect(page, turn).toHaveURL(/\/new/);
    await expect.poll(() => top(page, inNew), turn).toBe(newStood);
    await page.goForward();
    await expect(page, turn).toHaveURL("/g/many");
    await expectIds(page, score.slice(0, 25));
  }
});

test("a link to the current list reloads it from the top", async ({ page, server }) => {
  await page.goto("/new");
  await scrollTo(page, 50);
  const article = await server.post({ title: "Newest" });
  await page.getByRole("navigation", { name: "Site" }).getByRole("link", { name: "New" }).click();
  await expect(rows(page).first().locator(".title")).toHaveText("Newest");
  await expect(shown(page, article)).toBeInViewport();
  await expect(rows(page)).toHaveCount(25);
});

test("a list ends after three parts, with the links of the site", async ({ page }) => {
  await page.goto("/");
  await scrollTo(page, 75);
  for (let i = 0; i < 5; i++) {
    await page.keyboard.press("End");
    await expect(page.getByRole("contentinfo").getByRole("link", { name: "Feed" })).toBeInViewport();
  }
  await expect(rows(page)).toHaveCount(75);
  const more = page.getByRole("link", { name: "More articles" });
  expect((await more.boundingBox())?.height).toBeGreaterThanOrEqual(48);
  await more.click();
  await expect(rows(page)).toHaveCount(100);
  await scrollTo(page, 120);
});

test("what is new since the last visit has a dot and a line, until it was seen @core", async ({
  page,
  server,
}) => {
  const since = Date.now() - 25 * 60_000; // ten minutes are between two articles: the first three are new
  await page.addInitScript((since) => {
    if (!localStorage.getItem("frontpage.seen"))
      localStorage.setItem("frontpage.seen", JSON.stringify({ since, active: Date.now() }));
  }, since);
  const [, , third] = await server.articles("TIME");
  await page.goto("/");
  await expect(page.locator("[data-new]")).not.toHaveCount(0);
  await expect(page.locator(".since")).toHaveCount(0); // only where they come first
  await page.goto("/new");
  await expect(page.locator("[data-new]")).toHaveCount(3);
  await expect(page.locator(".since")).toHaveText(/^3 new since /);
  const line = await page.locator(".since").boundingBox();
  const row = await shown(page, third ?? { id: "" }).boundingBox();
  expect(
    Math.abs((line?.y ?? 0) + (line?.height ?? 0) / 2 - (row?.y ?? 0) - (row?.height ?? 0)),
  ).toBeLessThan(2);
  await page.getByRole("link", { name: "Hot", exact: true }).click();
  await page.getByRole("link", { name: "New", exact: true }).click();
  await expect(rows(page)).toHaveCount(25);
  await expect(page.locator(".since")).toHaveCount(0); // it was seen
  await page.reload();
  await expect(page.locator("[data-new]")).toHaveCount(0);
});

test("the window says how many articles wait", async ({ page, server, watch }) => {
  await page.goto("/new");
  await watch.live(page, "articlePosted");
  await server.post({ title: "One" });
  await expect(page).toHaveTitle("(1) New articles · Frontpage");
  await page.getByRole("button", { name: "1 new article" }).click();
  await expect(page).toHaveTitle("New articles · Frontpage");
});
