import { join } from "node:path";
import { expect, test } from "./fixtures";
import { button, choose, rows, up } from "./helpers";

// Takes the pictures in docs/images/: every page, light and dark, wide and narrow.
const images = join(import.meta.dirname, "../../../docs/images");
const sizes = { wide: { width: 1180, height: 780 }, narrow: { width: 390, height: 780 } };
const duplicate = "https://go.dev/blog/gopher";

test.use({ demo: true, viewer: "alice", contextOptions: { reducedMotion: "reduce" } });

for (const [size, viewport] of Object.entries(sizes)) {
  for (const colorScheme of ["light", "dark"] as const) {
    test.describe(`${colorScheme}, ${size}`, () => {
      test.use({ viewport, colorScheme });
      test("every page", async ({ page }) => {
        const take = async (name: string) => {
          await page.waitForLoadState("networkidle");
          await page.screenshot({ path: join(images, `${name}-${colorScheme}-${size}.png`) });
        };

        await page.goto("/");
        await take("front");

        await page.goto("/g/science");
        await choose(rows(page).nth(1), "Why it ranks here");
        await take("group");

        await page.goto("/groups");
        await take("groups");

        await page.goto("/u/wren");
        await button(page, "Menu").click();
        await take("user");

        await page.goto("/");
        await rows(page).nth(1).locator("time").click();
        await expect(page.locator(".standing")).toBeVisible();
        await expect(page.locator(".neighbours")).not.toHaveCount(0);
        await take("article");

        await page.goto("/");
        await button(page, "More").nth(1).click();
        await expect(page.getByRole("dialog")).toBeVisible();
        await take("menu");

        await page.goto("/from/en.wikipedia.org");
        await take("from");

        await page.goto("/past");
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await take("past");

        await page.goto("/submit");
        await page.getByLabel("Title").fill("Where the gopher comes from");
        await page.getByLabel("Link").fill(duplicate);
        await page.getByLabel("Groups").fill("go design ");
        await page.getByRole("button", { name: "Post", exact: true }).click();
        await expect(page.getByText("was already posted")).toBeVisible();
        await take("submit");

        await page.goto("/top/week");
        await up(rows(page).nth(1)).click();
        await expect(up(rows(page).nth(1))).toHaveAttribute("aria-pressed", "true");
        await take("top");

        await page.goto("/votes");
        await take("votes");

        await page.goto("/signin");
        await take("signin");

        await page.goto("/lab?formula=HALF_LIFE&halfLife=21600&span=WEEK");
        await expect(page.locator(".ranked")).toBeVisible();
        await take("lab");

        await page.goto("/graphiql");
        await page.waitForLoadState("networkidle"); // editors and schema are loaded
        await page.getByRole("button", { name: /^Execute query/ }).click();
        await expect(page.locator(".result-window").getByText("articles").first()).toBeVisible();
        await take("graphiql");
      });
    });
  }
}
