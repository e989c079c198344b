import { expect, test } from "./fixtures";
import { expectIds, rows, shown, votes } from "./helpers";

const fresh = (count: number) => ({ name: `${count} new article${count > 1 ? "s" : ""}` });

test("another user's vote arrives in all windows, and reorders nothing @core", async ({
  page,
  another,
  server,
  watch,
}) => {
  const articles = [];
  for (const title of ["First", "Second", "Third"]) articles.unshift(await server.post({ title }));
  const [, , last] = articles;
  if (!last) throw new Error("there are three");
  const other = await another("cleo");
  const own = await another("");
  await own.goto(`/a/${last.number}`);
  for (const window of [page, other]) {
    await window.goto("/");
    await expectIds(window, articles);
  }
  for (const window of [page, other, own]) await watch.live(window, "articleChanged");

  await server.vote(last, "UP", "dan");
  await server.vote(last, "UP", "eve");
  for (const window of [page, other, own]) await expect(votes(shown(window, last))).toHaveText("3");
  expect((await server.articles())[0]?.id).toBe(last.id);
  for (const window of [page, other]) await expectIds(window, articles);

  await server.vote(last, "NONE", "dan");
  await server.vote(last, "DOWN", "eve");
  for (const window of [page, other, own]) await expect(votes(shown(window, last))).toHaveText("0");
});

test("a vote arrives in the voter's other windows", async ({ page, another, server, watch }) => {
  const article = await server.post({ title: "Mine" });
  const other = await another("ada");
  await other.goto("/");
  await page.goto("/");
  await watch.live(other, "articleChanged");
  await page.getByRole("button", { name: "Vote up" }).click();
  await expect(votes(shown(other, article))).toHaveText("2");
  await expect(other.getByRole("button", { name: "Vote up" })).toHaveAttribute("aria-pressed", "true");
});

test("new articles are counted, do not move the list, and appear on request @core", async ({
  page,
  server,
  watch,
}) => {
  const before = await server.post({ title: "Before" });
  for (let i = 0; i < 30; i++) await server.post({ title: `Older ${i}` });
  for (const name of ["dan", "eve"]) await server.vote(before, "UP", name);
  await page.goto("/");
  await expect(rows(page)).toHaveCount(25);
  await watch.live(page, "articlePosted");
  const top = () => shown(page, before).boundingBox();
  const initial = await top();

  const first = await server.post({ title: "After 1" });
  await expect(page.getByRole("button", fresh(1))).toBeVisible();
  const second = await server.post({ title: "After 2" });
  const third = await server.post({ title: "After 3" });
  await expect(page.getByRole("button", fresh(3))).toBeVisible();
  expect(await top()).toEqual(initial);
  await expect(rows(page).first().locator(".title")).toHaveText("Before");
  for (const { id } of [first, second, third]) await expect(shown(page, { id })).toHaveCount(0);

  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.getByRole("button", fresh(3)).click();
  await expect(page).toHaveURL("/new");
  await expectIds(page, (await server.articles("TIME")).slice(0, 25));
  await expect(rows(page).first()).toBeInViewport();
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
  await expect(page.getByRole("button", { name: "new article" })).toHaveCount(0);
  await page.goBack();
  await expect(page).toHaveURL("/");
});

test("a group only counts its own new articles", async ({ page, server, watch }) => {
  await server.post({ title: "Before", groups: ["go"] });
  await page.goto("/g/go");
  await expect(rows(page)).toHaveCount(1);
  await watch.live(page, "articlePosted");
  await server.post({ title: "Elsewhere", groups: ["web"] });
  await server.post({ title: "Nowhere" });
  const here = await server.post({ title: "Here", groups: ["web", "go"] });
  const button = page.getByRole("button", { name: "new article" });
  await expect(button).toHaveText("1 new article");
  await server.post({ title: "Here, too", groups: ["go"] });
  await expect(button).toHaveText("2 new articles");
  await button.click();
  await expect(rows(page)).toHaveCount(3);
  await expect(shown(page, here)).toBeVisible();
});

test("an empty page shows the first article on request", async ({ page, server, watch }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Welcome" })).toBeVisible();
  await watch.live(page, "articlePosted");
  const article = await server.post({ title: "The first" });
  await page.getByRole("button", fresh(1)).click();
  await expectIds(page, [article]);
});

test("a deleted article is replaced by a note @core", async ({ page, server, watch }) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/");
  await expectIds(page, [two, one]);
  await watch.live(page, "articleChanged");
  await server.execute(
    "mutation ($id: ID!) { deleteArticle(input: { article: $id }) { deletedId } }",
    { id: two.id },
    "ben",
  );
  await expect(page.getByText("This article has been deleted.")).toBeVisible();
  await expectIds(page, [one]);
});
