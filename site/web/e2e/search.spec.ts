import { expect, test } from "./fixtures";
import { check, expectIds, gate, onOperation, rows } from "./helpers";

test("results follow what is typed, without a jump @core", async ({ page, server }) => {
  const go = await server.post({ title: "A tour of Go" });
  const golang = await server.post({ title: "Golang tours" });
  await page.goto("/");
  await page.goto("/search");
  const find = page.getByLabel("Find articles");
  const count = page.locator(".found");
  await expect(count).toHaveAttribute("role", "status");
  const places = async () => [await find.boundingBox(), await count.boundingBox()];
  const before = await places();
  await find.focus();
  await find.pressSequentially("tour");
  await expectIds(page, [go, golang]);
  await expect(count).toHaveText("2 articles");
  await expect(page).toHaveURL("/search?q=tour");
  await find.pressSequentially("s");
  await expectIds(page, [golang]);
  await expect(count).toHaveText("1 article");
  await find.pressSequentially("zzz");
  await expect(page.getByText("Nothing found for “tourszzz”")).toBeVisible();
  await expect(count).toHaveText("0 articles");
  expect(await places()).toEqual(before);
  await expect(find).toBeFocused();

  // One began with the page before, whatever was typed since.
  await find.fill("go");
  await expect(page).toHaveURL("/search?q=go");
  await find.press("Enter");
  await find.fill("golang");
  await expect(page).toHaveURL("/search?q=golang");
  await find.fill("golang tours");
  await expect(page).toHaveURL("/search?q=golang+tours");
  await page.goBack();
  await expect(page).toHaveURL("/search?q=go");
  await expect(find).toHaveValue("go");
  await expect(rows(page)).toHaveCount(2);
  await page.goBack();
  await expect(page).toHaveURL("/");
});

test("a late answer never replaces a newer one", async ({ page, server }) => {
  const one = await server.post({ title: "one" });
  const two = await server.post({ title: "two" });
  await page.goto("/search?q=one");
  await expectIds(page, [one]);
  const late = gate();
  await onOperation(page, "Search", async (route) => {
    if (route.request().postDataJSON().variables.text === "slow") await late.opened;
    await route.continue().catch(() => {}); // the page has ended it
  });
  const find = page.getByLabel("Find articles");
  const asked = page.waitForRequest((request) => request.postData()?.includes("slow") ?? false);
  const ended = page.waitForEvent("requestfailed");
  await find.fill("slow");
  await asked;
  await expectIds(page, [one]); // the results stay until there are others
  await find.fill("two");
  await ended;
  await expectIds(page, [two]);
  late.open();
  await find.fill("");
  await expect(page).toHaveURL("/search");
  await expect(rows(page)).toHaveCount(0);
});

test("similar titles are shown while one types, and the form does not move", async ({ page, server }) => {
  await server.post({ title: "Of the tides of the sea" });
  await server.post({ title: "The tides" });
  await page.goto("/submit");
  const title = page.getByLabel("Title");
  const groups = page.getByLabel("Groups");
  const before = await groups.boundingBox();
  await title.pressSequentially("The tides of the sea");
  const similar = page.locator(".similar");
  await expect(similar).toHaveText(/^2 similar articles: Of the tides of the sea/);
  expect(await groups.boundingBox()).toEqual(before);
  await title.press("Tab");
  await page.keyboard.press("Enter");
  const links = similar.getByRole("link");
  await expect(links).toHaveText(["Of the tides of the sea", "The tides"]);
  await page.keyboard.press("Tab");
  await expect(links.first()).toBeFocused();
  await check(page, "similar titles");
  const opens = page.waitForEvent("popup");
  await page.keyboard.press("Enter");
  await expect(await opens).toHaveURL("/a/1");
  await expect(title).toHaveValue("The tides of the sea");
  await title.fill("Rust");
  await expect(similar).toBeEmpty();
});

test.describe("on a site without search", () => {
  test.use({ settings: { FRONTPAGE_SEARCH: "off" } });

  test("the form asks for no similar titles", async ({ page }) => {
    await page.goto("/submit");
    await page.getByLabel("Title").fill("The tides of the sea");
    await expect(page.locator(".similar")).toHaveCount(0);
  });
});
