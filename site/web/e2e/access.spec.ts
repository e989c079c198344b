import type { Page } from "@playwright/test";
import { expect, outage, test } from "./fixtures";
import { button, check, choose, down, gate, onOperation, rows, shown, up, votes } from "./helpers";

test.describe("axe finds no accessibility problems", () => {
  test.use({ demo: true, contextOptions: { reducedMotion: "reduce" } });

  for (const colorScheme of ["light", "dark"] as const) {
    test.describe(`in ${colorScheme}`, () => {
      test.use({ colorScheme });

      test("on lists and articles", async ({ page, server }) => {
        await page.goto("/");
        await choose(rows(page).nth(2), "Why it ranks here");
        await up(rows(page).nth(1)).click();
        await down(rows(page).nth(3)).click();
        await expect(down(rows(page).nth(3))).toHaveAttribute("aria-pressed", "true");
        await check(page, "the front page");
        await page.keyboard.press("?");
        await expect(page.getByRole("dialog")).toBeVisible();
        await check(page, "the keyboard shortcuts");
        await page.keyboard.press("?");

        await server.post({ title: "New", text: "See https://example.org/.", groups: ["web"] }, "ada");
        await expect(page.getByRole("button", { name: "1 new article" })).toBeVisible();
        await check(page, "a new article");

        const after = await page.getByRole("link", { name: "More articles" }).getAttribute("href");
        await page.goto(after ?? "");
        await expect(page.getByText("further down this list")).toBeVisible();
        await check(page, "further down");
        await page.goto("/g/web");
        await expect(rows(page)).not.toHaveCount(0);
        await check(page, "a group");
        await page.goto("/groups");
        await expect(page.getByRole("main").getByRole("listitem")).not.toHaveCount(0);
        await check(page, "the groups");
        await page.goto("/u/ada");
        await expect(rows(page)).toHaveCount(1);
        await check(page, "a user");
        await rows(page).locator("time").click();
        await choose(page, "Edit");
        await expect(page.getByLabel("Title")).toBeVisible();
        await check(page, "an article, and editing it");
        await choose(page, "Delete");
        await expect(button(page, "Delete the article")).toBeVisible();
        await button(page, "Menu").click();
        await expect(button(page, "Sign out")).toBeVisible();
        await check(page, "deleting an article, and the menu");
      });

      test("on rankings", async ({ page }) => {
        await page.goto("/top/week");
        await expect(rows(page)).not.toHaveCount(0);
        await check(page, "the top of a week");
        await page.goto("/past");
        await expect(page.getByRole("main").getByRole("heading", { level: 1 })).toBeVisible();
        await check(page, "the front page of a past hour");
        await page.goto("/lab");
        await expect(rows(page)).not.toHaveCount(0);
        await check(page, "the ranking lab");
        await page.getByRole("radio", { name: "Top" }).check();
        await check(page, "the ranking lab without a slider");
        await page.goto("/a/1");
        await expect(page.locator(".standing > div")).toBeVisible();
        await check(page, "where an article stands");
        await up(page.locator("article")).click();
        await page.goto("/votes");
        await expect(rows(page)).toHaveCount(1);
        await check(page, "one's votes");
      });

      test("on forms, error pages and empty lists", async ({ page, server, watch }) => {
        watch.allowed.push(/status of 404/, outage);
        await page.goto("/submit");
        await page.getByLabel("Link").fill("nowhere");
        await page.getByLabel("Groups").fill("a/b ");
        await page.getByRole("button", { name: "Post" }).click();
        await expect(page.locator("[aria-invalid]")).not.toHaveCount(0);
        await check(page, "the submit form with errors");
        await page.goto("/signin");
        await expect(page.getByLabel("Name")).toBeVisible();
        await check(page, "the sign-in form");
        for (const [what, path] of [
          ["an unknown address", "/nowhere"],
          ["an unknown article", "/a/999999"],
          ["an empty group", "/g/none"],
        ] as const) {
          await page.goto(path);
          await expect(page.getByRole("main").getByRole("heading").first()).toBeVisible();
          await check(page, what);
        }
        await page.goto("/");
        await expect(rows(page)).toHaveCount(25);
        await server.stop();
        await expect(page.getByText("No connection to the server.")).toBeVisible();
        await check(page, "offline");
        await page.getByRole("link", { name: "New", exact: true }).click();
        await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
        await check(page, "a list that fails");
      });

      test("on a phone", async ({ page }) => {
        await page.setViewportSize({ width: 390, height: 844 });
        for (const path of ["/", "/new", "/g/web", "/top/all", "/a/1", "/u/wren", "/groups", "/past"]) {
          await page.goto(path);
          await page.waitForLoadState("networkidle");
          await check(page, path);
        }
      });

      test.describe("on a site without articles", () => {
        test.use({ demo: false, viewer: "" });

        test("signed out", async ({ page }) => {
          await page.goto("/");
          await expect(page.getByRole("heading", { name: "Welcome" })).toBeVisible();
          await check(page, "an empty site");
          await page.goto("/submit");
          await expect(page.getByText("is saved in this window while you")).toBeVisible();
          await check(page, "the submit form, signed out");
          for (const path of ["/top/day", "/past", "/votes", "/lab"]) {
            await page.goto(path);
            await expect(page.getByRole("main").getByRole("heading").first()).toBeVisible();
            await check(page, `an empty ${path}`);
          }
        });
      });
    });
  }
});

const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute("aria-label") ?? element?.textContent ?? "";
  });

test("the tab order is the reading order @core", async ({ page, server }) => {
  await server.post({ title: "One", link: "https://example.org/", groups: ["go", "web"] });
  await page.goto("/");
  await expect(rows(page)).toHaveCount(1);
  const order: string[] = [];
  for (let i = 0; i < 23; i++) {
    await page.keyboard.press("Tab");
    order.push((await focused(page)).trim());
  }
  expect(order).toEqual([
    "Skip to the content",
    "Frontpage",
    "Hot",
    "New",
    "Top",
    "Past",
    "Groups",
    "Search",
    "Submit",
    "ada",
    "Menu",
    "One",
    "Vote up, 1 vote: One",
    "Vote down",
    "now",
    "ben",
    "Group go",
    "Group web",
    "More",
    "Try other rules",
    "Search",
    "Feed",
    "GraphQL API",
  ]);
});

test("the skip link leads to the content", async ({ page, server }) => {
  await server.post({ title: "One" });
  await page.goto("/");
  await expect(rows(page)).toHaveCount(1);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await expect(page).toHaveURL("/");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "One", exact: true })).toBeFocused();
});

test("navigation focuses the new page, and the back button restores the focus", async ({ page, server }) => {
  const article = await server.post({ title: "One" });
  await page.goto("/");
  for (const [link, path] of [
    ["New", "/new"],
    ["Groups", "/groups"],
    ["Top", "/top/day"],
    ["Past", "/past"],
    ["Hot", "/"],
  ] as const) {
    await page.getByRole("navigation", { name: "Site" }).getByRole("link", { name: link }).press("Enter");
    await expect(page).toHaveURL(path);
    await expect(page.getByRole("main")).toBeFocused();
  }
  await shown(page, article).locator("h2 a").press("Enter");
  await expect(page).toHaveURL(`/a/${article.number}`);
  await expect(page.getByRole("main")).toBeFocused();
  await page.goBack();
  await expect(page).toHaveURL("/");
  await expect(shown(page, article).locator("h2 a")).toBeFocused();
});

test("single-key shortcuts open articles and vote @core", async ({ page, server }) => {
  const link = `${server.url}/healthz`;
  const [three, two, one] = [
    await server.post({ title: "Three" }),
    await server.post({ title: "Two" }),
    await server.post({ title: "One", link }),
  ];
  const title = (article: { id: string }) => shown(page, article).locator("h2 a");
  await page.goto("/");
  await expect(rows(page)).toHaveCount(3);
  await page.keyboard.press("j");
  await expect(title(one)).toBeFocused();
  await page.keyboard.press("j");
  await expect(title(two)).toBeFocused();
  await page.keyboard.press("u");
  await expect(votes(shown(page, two))).toHaveText("2");
  await expect(title(two)).toBeFocused();
  await page.keyboard.press("d");
  await expect(votes(shown(page, two))).toHaveText("0");
  await page.keyboard.press("d");
  await expect(votes(shown(page, two))).toHaveText("1");
  await expect.poll(async () => (await server.article(two, "ada")).viewerVote).toBe("NONE");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(title(three)).toBeFocused();
  await page.keyboard.press("k");
  await expect(title(two)).toBeFocused();
  await page.keyboard.press("o");
  await expect(page).toHaveURL(`/a/${two.number}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Two");
  await page.keyboard.press("u");
  await expect(votes(shown(page, two))).toHaveText("2");
  await page.goBack();
  await expect(title(two)).toBeFocused();
  await page.keyboard.press("k");
  await expect(title(one)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(link);
});

test("single-key shortcuts can be disabled, and are ignored in text fields", async ({ page, server }) => {
  const article = await server.post({ title: "One" });
  const title = shown(page, article).locator("h2 a");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await page.goto("/submit");
  await page.getByLabel("Title").pressSequentially("judo?k");
  await expect(page.getByLabel("Title")).toHaveValue("judo?k");
  await expect(dialog).toBeHidden();
  await expect(page).toHaveURL("/submit");

  await page.goto("/");
  await expect(rows(page)).toHaveCount(1);
  await page.keyboard.press("?");
  await expect(dialog).toBeVisible();
  await page.keyboard.press("j");
  await expect(title).not.toBeFocused();
  await dialog.getByRole("checkbox").uncheck();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  for (const load of [() => undefined, () => page.reload()]) {
    await load();
    await expect(title).toBeVisible();
    for (const key of ["j", "u", "o"]) await page.keyboard.press(key);
    await expect(title).not.toBeFocused();
  }
  expect((await server.article(article)).votes).toBe(1);

  await page.keyboard.press("?");
  await dialog.getByRole("checkbox").check();
  await dialog.getByRole("button").click();
  await expect(dialog).toBeHidden();
  await page.keyboard.press("j");
  await expect(title).toBeFocused();
});

for (const reducedMotion of ["reduce", "no-preference"] as const) {
  test.describe("with the preference", () => {
    test.use({ contextOptions: { reducedMotion } });

    test(`${reducedMotion === "reduce" ? "reduced motion, nothing moves" : "no reduced motion, loading is animated"}`, async ({
      page,
      server,
    }) => {
      const article = await server.post({ title: "One" });
      const { open, opened } = gate();
      const animations = () =>
        page.evaluate(
          () =>
            document
              .getAnimations()
              .filter((animation) => Number(animation.effect?.getComputedTiming().duration) > 0).length,
        );
      await page.goto("/");
      await expect(rows(page)).toHaveCount(1);
      await onOperation(page, "Articles", async (route) => {
        await opened;
        await route.continue();
      });
      await page.getByRole("link", { name: "New", exact: true }).click();
      await expect(page.locator(".skeleton")).toBeAttached();
      const expected = expect.poll(animations, "while a list loads");
      await (reducedMotion === "reduce" ? expected.toBe(0) : expected.toBeGreaterThan(0));
      open();
      await up(shown(page, article)).hover();
      await up(shown(page, article)).click();
      if (reducedMotion === "reduce") expect(await animations()).toBe(0);
      await expect(votes(shown(page, article))).toHaveText("2");
    });
  });
}
