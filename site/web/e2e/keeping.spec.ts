import { expect, test } from "./fixtures";
import { button, choose, expectIds, rows, shown } from "./helpers";

test("articles are saved from lists and on their pages, for the viewer alone @core", async ({
  page,
  server,
  another,
}) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/saved");
  await expect(page.getByRole("heading", { name: "Nothing saved yet" })).toBeVisible();
  await page.goto("/");
  await choose(shown(page, one), "Save for later");
  await page.goto(`/a/${two.number}`);
  await button(page, "Save").click();
  await expect(button(page, "Saved")).toHaveAttribute("aria-pressed", "true");
  await button(page, "Menu").click();
  await page.getByRole("link", { name: "Saved articles" }).click();
  await expectIds(page, [two, one]);
  await choose(shown(page, two), "Remove from saved");
  await page.reload();
  await expectIds(page, [one]);
  const other = await another("ben");
  await other.goto("/saved");
  await expect(other.getByRole("heading", { name: "Nothing saved yet" })).toBeVisible();
  const visitor = await another("");
  await visitor.goto("/saved");
  await expect(visitor.getByRole("main")).toContainText("Only you can see what you saved: sign in.");
});

test("what is new of followed groups and users is on a page of its own @core", async ({ page, server }) => {
  const [go, ben, other] = [
    await server.post({ title: "Of Go", groups: ["go"] }, "cleo"),
    await server.post({ title: "By ben" }, "ben"),
    await server.post({ title: "Of neither", groups: ["web"] }, "cleo"),
  ];
  await page.goto("/g/go");
  await button(page, "Follow").click();
  await expect(button(page, "Following")).toHaveAttribute("aria-pressed", "true");
  await page.goto("/u/ben");
  await button(page, "Follow").click();
  await expect(button(page, "Following")).toBeVisible();
  await page.goto("/u/ada");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("ada");
  await expect(button(page, "Follow")).toHaveCount(0);
  await page.goto("/following");
  await expectIds(page, [ben, go]);
  await expect(shown(page, other)).toHaveCount(0);
  await page
    .getByRole("listitem")
    .filter({ hasText: "ben" })
    .getByRole("button", { name: "Following" })
    .first()
    .click();
  await page.reload();
  await expectIds(page, [go]);
});

test.describe("a group", () => {
  test.use({ settings: { FRONTPAGE_MODERATORS: "meg", FRONTPAGE_CALENDAR: "groups" }, viewer: "meg" });

  test("says what it is about, in the words of a moderator, also to those who post @core", async ({
    page,
    another,
    server,
  }) => {
    const one = await server.post({ title: "One", groups: ["go", "web"] });
    await page.goto("/g/go");
    await button(page, "Edit").click();
    await page.getByLabel("What it is about").fill("All about <i>Go</i>.");
    await page.getByLabel("Rules, one on each line").fill("No adverts\nEnglish only\n");
    await button(page, "Save changes").click();
    await expect(page.locator(".heading")).toContainText("All about <i>Go</i>.");
    const ada = await another("ada");
    await ada.goto("/g/go");
    await expect(ada.locator(".heading")).toContainText("All about <i>Go</i>.");
    await expect(ada.locator(".heading")).toContainText("1 article");
    await expect(button(ada, "Edit")).toHaveCount(0);
    await ada.getByText("Rules", { exact: true }).click();
    await expect(ada.getByText("English only")).toBeVisible();
    // Its rows do not repeat it.
    await expect(shown(ada, one).locator(".group")).toHaveText("Group web");
    await ada.getByRole("link", { name: "Post here" }).click();
    await expect(ada.getByLabel("Groups")).toHaveValue("go ");
    await expect(ada.locator("form .rules")).toContainText("No adverts");
    await ada.goto("/g/go/top/all");
    await expectIds(ada, [one]);
    await expect(ada.getByRole("link", { name: "Top", exact: true }).last()).toHaveAttribute(
      "aria-current",
      "page",
    );
    await ada.getByRole("link", { name: "Month" }).click();
    await expect(ada).toHaveURL("/g/go/top/month");
    await expect(rows(ada)).toHaveCount(1);
    await ada.goto("/groups");
    await ada.getByLabel("Find a group").fill("EB");
    await expect(ada.getByRole("main").getByRole("listitem")).toHaveText([/web/]);
  });
});
