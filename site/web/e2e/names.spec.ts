import { expect, test } from "./fixtures";
import { choose, expectIds, rows, shown, signOut, up, votes } from "./helpers";

test("an empty site shows the next steps @core", async ({ page }) => {
  await page.goto("/");
  const main = page.getByRole("main");
  await expect(main.getByRole("heading", { name: "Welcome to your front page" })).toBeVisible();
  await expect(main.getByText("--demo-articles")).toBeVisible();
  await expect(main.getByText("import articles.csv", { exact: true })).toBeVisible();
  await main.getByRole("link", { name: "Explore the API" }).click();
  await expect(page).toHaveURL(/\/graphiql$/);
  await page.goBack();
  await main.getByRole("link", { name: "Submit the first article" }).click();
  await expect(page.getByRole("heading", { name: "Submit an article" })).toBeVisible();
  await page.goto("/groups");
  await expect(main.getByRole("heading", { name: "No groups yet" })).toBeVisible();
  await page.goto("/g/interesting");
  await expect(main.getByRole("heading", { name: "No interesting articles yet" })).toBeVisible();
  await page.goto("/u/ada");
  await expect(main.getByRole("heading", { name: "No articles" })).toBeVisible();
  await page.goto("/past");
  await expect(main.getByRole("heading", { name: "No front page has been saved yet" })).toBeVisible();
  await expect(main.getByRole("link", { name: "See the latest one" })).toHaveCount(0);
  await page.goto("/g/sea");
  await main.getByRole("link", { name: "Submit the first article" }).click();
  await expect(page.getByLabel("Groups")).toHaveValue("sea ");
});

test.describe("without the explorer", () => {
  test.use({ settings: { FRONTPAGE_SERVE: "site" } });

  test("an empty site does not link to it", async ({ page }) => {
    await page.goto("/");
    await expect(page.getByText("import articles.csv")).toBeVisible();
    await expect(page.locator("a[href='/graphiql']")).toHaveCount(0);
  });
});

test("an unknown address shows a page with a link home", async ({ page, watch }) => {
  watch.allowed.push(/status of 404/);
  for (const path of ["/nowhere", "/a/x", "/g/go/old", "/u/a/b", "/a/1/2"]) {
    const response = await page.goto(path);
    expect(response?.status(), path).toBe(/^\/(a\/x|u\/a\/b)$/.test(path) ? response?.status() : 404);
    await expect(page.getByRole("heading", { name: "Page not found" }), path).toBeVisible();
    await page.getByRole("main").getByRole("link", { name: "front page" }).click();
    await expect(page).toHaveURL("/");
    await expect(page.getByRole("heading", { name: "Welcome" })).toBeVisible();
  }
});

const users = ["a/b c%", "zoë", "Ж", "a?b#c&d=e", "%2F", "..", '"><i>'];

test("users with any valid name have a page", async ({ page, server }) => {
  for (const name of users) {
    const article = await server.post({ title: "Theirs" }, name);
    await page.goto("/");
    await shown(page, article).getByRole("link", { name, exact: true }).click();
    for (const load of [() => undefined, () => page.reload()]) {
      await load();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
      await expectIds(page, [article]);
    }
  }
});

test.describe("an anonymous visitor", () => {
  test.use({ viewer: "" });

  test("can sign in with any valid name", async ({ page, server }) => {
    const article = await server.post({ title: "For all" });
    for (const [i, name] of users.entries()) {
      await page.goto("/signin");
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page).toHaveURL("/");
      const own = page.getByRole("banner").getByRole("link", { name, exact: true });
      await expect(own).toBeVisible();
      await up(shown(page, article)).click();
      await expect(votes(shown(page, article))).toHaveText(`${i + 2}`);
      await expect.poll(async () => (await server.article(article, name)).viewerVote).toBe("UP");
      await own.click();
      await expect(page.getByRole("heading", { name, exact: true })).toBeVisible();
      await signOut(page);
      await expect(own).toHaveCount(0);
    }
  });
});

test("group names can have letters of any script", async ({ page, server }) => {
  const articles = [];
  for (const name of ["жук", "zoë", "日本", "new", "a.b_c-d"])
    articles.push(await server.post({ title: `In ${name}`, groups: [name] }));
  await page.goto("/groups");
  await expect(page.getByRole("main").getByRole("listitem")).toHaveCount(5);
  for (const [i, name] of ["жук", "zoë", "日本", "new", "a.b_c-d"].entries()) {
    await page.goto("/groups");
    await page.getByRole("main").getByRole("link", { name }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
    await expectIds(page, articles.slice(i, i + 1));
    await page.getByRole("navigation", { name: "Order" }).getByRole("link", { name: "New" }).click();
    await expect(page).toHaveURL(`/g/${encodeURIComponent(name)}/new`);
    await page.reload();
    await expectIds(page, articles.slice(i, i + 1));
  }
});

test.describe("on a narrow screen", () => {
  const name = "m".repeat(64);
  test.use({ viewport: { width: 360, height: 640 }, viewer: name });

  test("long words do not overflow", async ({ page, server, watch }) => {
    watch.allowed.push(/status of 404/);
    const groups = [...Array(10).keys()].map((i) => `${i}${"g".repeat(63)}`);
    const link = `https://${"h".repeat(60)}.${"h".repeat(60)}.example/${"p".repeat(300)}`;
    const title = "W".repeat(200);
    await server.post({ title, link, groups }, name);
    await server.post({ title, text: `${"T".repeat(500)} ${link}?x`, groups }, name);
    const fits = () =>
      expect
        .poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth), page.url())
        .toBeLessThanOrEqual(0);
    for (const path of ["/", "/new", `/g/${groups[0]}`, `/u/${name}`]) {
      await page.goto(path);
      await expect(rows(page)).toHaveCount(2);
      await choose(rows(page).first(), "Why it ranks here");
      await expect(page.locator(".why")).toBeVisible();
      await fits();
    }
    for (const path of ["/top/day", "/votes", "/lab", "/lab?formula=LINEAR"]) {
      await page.goto(path);
      await expect(rows(page)).toHaveCount(2);
      await fits();
    }
    for (const path of ["/a/1", "/a/2"]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { name: title })).toBeVisible();
      await choose(page, "Delete");
      await fits();
    }
    for (const path of ["/groups", "/g/none", "/nowhere", "/signin", "/past"]) {
      await page.goto(path);
      await expect(page.getByRole("main").getByRole("heading").first()).toBeVisible();
      await page.keyboard.press("?");
      await fits();
    }
    await page.goto("/submit");
    await page.getByLabel("Title").fill(title);
    await page.getByLabel("Link").fill(link);
    await expect(page.getByRole("button", { name: "Add group" })).toHaveCount(6);
    await page.getByRole("button", { name: "Post" }).click();
    await expect(page.getByText("was already posted")).toBeVisible();
    await fits();
  });
});
