import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "./fixtures";
import { button, rows, shown, votes } from "./helpers";

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><style>path{fill:#123}</style><path d="M0 0h8v8z"/></svg>';

test.describe("a site with its own looks", () => {
  test.use({
    settings: async ({ viewer: _ }, use) => {
      const folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
      writeFileSync(join(folder, "logo.svg"), logo);
      await use({
        FRONTPAGE_SITE_NAME: "The <i>Daily</i> Gopher",
        FRONTPAGE_SITE_ACCENT: "#8a1c5a",
        FRONTPAGE_SITE_LOGO: join(folder, "logo.svg"),
        FRONTPAGE_SITE_LINKS: "Rules=https://example.org/rules,Mail=mailto:ada@example.org",
      });
      rmSync(folder, { recursive: true });
    },
  });

  test("shows them on each page", async ({ page, server }) => {
    await server.post({ title: "One" });
    await page.goto("/");
    await expect(page).toHaveTitle("The <i>Daily</i> Gopher");
    const brand = page.locator(".brand");
    await expect(brand).toHaveText("The <i>Daily</i> Gopher");
    await expect(brand.locator("img")).toHaveJSProperty("naturalWidth", 150);
    await expect(page.getByRole("link", { name: "Rules", exact: true })).toHaveAttribute(
      "href",
      "https://example.org/rules",
    );
    await expect(page.getByRole("link", { name: "Mail" })).toHaveAttribute("href", "mailto:ada@example.org");
    const submit = page.getByRole("link", { name: "Submit", exact: true });
    await expect(submit).toHaveCSS("background-color", "rgb(138, 28, 90)");
    await page.goto("/new");
    await expect(page).toHaveTitle("New articles · The <i>Daily</i> Gopher");
    await button(page, "Menu").click();
    await page.getByRole("radio", { name: "Dark" }).check();
    await expect(submit).not.toHaveCSS("background-color", "rgb(138, 28, 90)");
    const { site } = await server.execute<{ site: { name: string } }>("{ site { name } }");
    expect(site.name).toBe("The <i>Daily</i> Gopher");
  });
});

test.describe("a site without rankings, past front pages and lists of votes", () => {
  test.use({
    settings: { FRONTPAGE_CALENDAR: "off", FRONTPAGE_FRONT_PAGES_KEPT: "0", FRONTPAGE_VOTES_KEPT: "off" },
  });

  test("has no links to them", async ({ page, server, watch }) => {
    watch.allowed.push(/status of 404/);
    const { number } = await server.post({ title: "One", groups: ["go"] }, "ada");
    for (const path of ["/", `/a/${number}`, "/u/ada"]) {
      await page.goto(path);
      await expect(page.getByRole("link", { name: "ada" }).first()).toBeVisible();
      await button(page, "Menu").click();
      await expect(page.locator("#menu")).toContainText("Your page");
      const links = await page
        .locator("a")
        .evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""));
      expect(links.filter((href) => /^\/(top|past|lab|votes)/.test(href))).toEqual([]);
      await expect(page.getByRole("navigation", { name: "Site" })).toHaveText("HotNewGroups");
    }
    for (const path of ["/top/day", "/past", "/lab", "/votes"]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Page not found");
    }
  });
});

test.describe("a site in German", () => {
  test.use({ demo: true, settings: { FRONTPAGE_SITE_LANGUAGE: "de" } });

  test.beforeEach(({ watch }) => void watch.allowed.push(/status of 404/));

  test("has German texts, plurals, numbers and dates", async ({ page, server }) => {
    const article = await server.post({ title: "Eins", groups: ["eins"] });
    await page.goto("/");
    await expect(page.locator("html")).toHaveAttribute("lang", "de");
    await expect(page.getByRole("navigation", { name: "Seiten" })).toHaveText("AktuellNeuTopFrüherGruppen");
    await expect(rows(page)).toHaveCount(25);
    await expect(rows(page).first().locator(".facts")).toContainText(/^\d+ (Std|Tg)\./);
    await page.goto("/g/eins");
    const row = shown(page, article);
    await expect(row.locator(".facts")).toContainText("jetzt");
    await expect(votes(row)).toHaveText("1");
    await row.getByRole("button", { name: "Mehr" }).click();
    await row.getByRole("button", { name: "Warum er hier steht" }).click();
    await expect(row.locator(".why")).toContainText(
      "Mit 1 Stimme bleibt er vor Artikeln ohne Stimmen, die bis zu 7 Minuten neuer sind.",
    );
    await row.getByRole("button", { name: "Dafür stimmen" }).click();
    await expect(votes(row)).toHaveText("2");
    await page.goto("/u/ben");
    const month = new Date().toLocaleDateString("de", { month: "long", timeZone: "Asia/Tokyo" });
    await expect(page.locator(".heading")).toContainText(
      new RegExp(`Erster Artikel vom \\d+\\. ${month} \\d{4}\\.`),
    );
    await expect(page).toHaveTitle("ben · Frontpage");
    await page.goto("/submit?link=kein+Link&title=Eins");
    await expect(page.getByRole("main")).toContainText("15 Min. lang ändern und den Text 7 Tg. lang.");
    await page.getByRole("button", { name: "Veröffentlichen" }).click();
    await expect(page.locator(".error").first()).toHaveText(/^Gib eine Webadresse an/);
    for (const [path, heading] of [
      ["/top/week", "Top der letzten 7 Tage"],
      ["/lab", "Ranglisten-Labor"],
      ["/submit", "Einen Artikel einreichen"],
      ["/nirgends", "Seite nicht gefunden"],
    ] as const) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    }
  });

  test("fits narrow screens", async ({ page, server }) => {
    const { number } = await server.post({ title: "Eins", link: "https://example.org/", groups: ["eins"] });
    await page.setViewportSize({ width: 320, height: 640 });
    for (const path of ["/", "/new", `/a/${number}`, "/groups", "/top/day", "/lab", "/submit", "/signin"]) {
      await page.goto(path);
      await expect(page.locator("main :is(h1, h2)").first()).toBeAttached();
      await expect(page.locator(".skeleton")).toHaveCount(0);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide, path).toBeLessThanOrEqual(0);
    }
  });
});
