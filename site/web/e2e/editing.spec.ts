import { expect, test } from "./fixtures";
import { action, button, choose, expectIds, message, shown } from "./helpers";

const edit = `mutation ($input: EditArticleInput!) { editArticle(input: $input) { userErrors { message } } }`;

test("a poster edits an article while there is time left, and watchers see it @core", async ({
  page,
  another,
  server,
}) => {
  const article = await server.post({ title: "A tpyo", text: "Old words." }, "ada");
  const watcher = await another("cleo");
  const list = await another("dan");
  await list.goto("/");
  await watcher.goto(`/a/${article.number}`);
  await expect(watcher.getByRole("heading", { level: 1 })).toHaveText("A tpyo");
  await expect(action(watcher, "Edit")).toHaveCount(0);

  await page.goto(`/a/${article.number}`);
  await expect(page.getByText("edited")).toHaveCount(0);
  await choose(page, "Edit");
  await expect(page.getByLabel("Title")).toHaveAccessibleDescription(
    /^1\d minutes left to change the title, \d days left to change the text\./,
  );
  await page.getByLabel("Title").fill("");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByLabel("Title")).toHaveAccessibleDescription(/title/i);
  await page.getByLabel("Title").fill("A typo");
  await page.getByLabel("Text").fill("New words.");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(message(page)).toHaveText("The article has been changed.");
  await expect(page.getByLabel("Title")).toBeHidden();
  await expect(button(page, "More")).toBeFocused();
  for (const window of [page, watcher]) {
    await expect(window.getByRole("heading", { level: 1 })).toHaveText("A typo");
    await expect(window.locator(".text")).toHaveText("New words.");
    await expect(window.getByText("edited just now")).toBeVisible();
  }
  await expect(shown(list, article).locator(".title")).toHaveText("A typo");
});

test("an edit of what was edited since is not saved before its author has seen that", async ({
  page,
  server,
}) => {
  const article = await server.post({ title: "One", text: "Old words." }, "ada");
  await page.goto(`/a/${article.number}`);
  await choose(page, "Edit");
  await page.getByLabel("Text").fill("Mine.");
  await server.execute(edit, { input: { article: article.id, text: "From elsewhere." } }, "ada");
  await expect(page.locator(".text")).toHaveText("From elsewhere.");
  await expect(page.getByLabel("Text")).toHaveValue("Mine.");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByLabel("Text")).toHaveAccessibleDescription(/has been edited since/);
  await expect(page.locator(".text")).toHaveText("From elsewhere.");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.locator(".text")).toHaveText("Mine.");
});

test("a poster deletes an article, and can post its link again", async ({ page, server }) => {
  const link = "https://example.org/tpyo";
  const [kept, article] = [
    await server.post({ title: "Kept" }),
    await server.post({ title: "x", link }, "ada"),
  ];
  await page.goto(`/a/${kept.number}`);
  await expect(page.getByRole("heading", { name: "Kept" })).toBeVisible();
  await expect(action(page, "Delete")).toHaveCount(0);
  await page.goto(`/a/${article.number}`);
  await choose(page, "Delete");
  await expect(page.getByLabel("Reason")).toHaveCount(0);
  await page.getByRole("button", { name: "Delete the article" }).click();
  await expect(message(page)).toHaveText("The article has been deleted.Undo");
  await expect(page).toHaveURL("/");
  await expectIds(page, [kept]);
  await button(page, "Undo").click();
  await expect(message(page)).toHaveText("The article is back.");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("x");
  await choose(page, "Delete");
  await button(page, "Delete the article").click();
  await expectIds(page, [kept]);
  await page.goto(`/a/${article.number}`);
  await expect(page.getByText(/^Its poster deleted it on 20\d\d-\d\d-\d\d\.$/)).toBeVisible();
  await server.post({ title: "Again", link }, "ada");
});

test.describe("after the time to change titles", () => {
  test.use({ settings: { FRONTPAGE_EDIT_WINDOW: "0s" } });

  test("a poster can change the text only", async ({ page, server }) => {
    const article = await server.post({ title: "One", text: "Old words." }, "ada");
    await expect.poll(() => Date.now() > Date.parse(article.createdAt) + 2000).toBe(true);
    await page.goto(`/a/${article.number}`);
    await choose(page, "Edit");
    await expect(page.getByLabel("Text")).toHaveAccessibleDescription(/^\d days left to change the text\./);
    await expect(page.getByLabel("Title")).toHaveCount(0);
    await page.getByLabel("Text").fill("New words.");
    await page.getByRole("button", { name: "Save changes" }).click();
    await expect(page.locator(".text")).toHaveText("New words.");
  });
});
