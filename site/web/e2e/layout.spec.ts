import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { button, choose, onOperation, rows, shown } from "./helpers";

// Titles and hosts of usual lengths: 80 letters at most.
const titles = [
  "Pardon Snowden",
  "Show: a map of all islands that do not exist, drawn by a small program in Go",
  "The unreasonable effectiveness of recurrent neural networks, explained in ten steps",
  "Ask: how do you keep notes?",
  "What every programmer should know about memory, part 1: the commodity hardware",
];
const hour = 3_600_000; // milliseconds
const now = Math.floor(Date.now() / 1000);
const lines = [...Array(30).keys()].map((i) => {
  const link = i % 5 === 3 ? "" : `https://www.news${i}.example.org/2026/${i}`;
  const text = link ? "" : "Words.";
  return `${i + 1},"${titles[i % titles.length]}",${link},${i * 41},user${i},${now - i * 3600},${text},programming databases history web`;
});
test.use({ csv: `id,title,link,votes,poster,posted_at,text,groups\n${lines.join("\n")}\n` });

const boxes = (page: Page, selector: string) =>
  page
    .locator(selector)
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));

const overflow = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test.describe("on a laptop", () => {
  test.use({ viewport: { width: 1280, height: 800 } });

  test("13 articles fit, each in two lines @core", async ({ page }) => {
    await page.goto("/");
    await expect(rows(page)).toHaveCount(25);
    const all = await boxes(page, ".row");
    for (const { height } of all) expect(height).toBeLessThanOrEqual(60);
    expect(all.filter(({ bottom }) => bottom <= 800).length).toBeGreaterThanOrEqual(13);
  });

  for (const path of ["/", "/new"])
    test(`rows of ${path} are of one height, with and without a host`, async ({ page }) => {
      await page.goto(path);
      await expect(rows(page)).toHaveCount(25);
      expect(new Set((await boxes(page, ".row")).map(({ height }) => height))).toEqual(new Set([56]));
    });

  test("the box about the rank ends with what it says", async ({ page }) => {
    await page.goto("/a/1");
    await expect(page.locator(".standing .why")).toBeVisible();
    const [[box], [why]] = [await boxes(page, ".standing > div"), await boxes(page, ".standing .why")];
    expect((box?.bottom ?? 0) - (why?.bottom ?? 0)).toBeLessThan(20);
  });

  test("the menu of a row says what the first ten take", async ({ page }) => {
    await onOperation(page, "Goals", async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      Object.assign(json.data.article, { first: 12, tenth: 5 });
      await route.fulfill({ response, json });
    });
    await page.goto("/new");
    await rows(page).first().getByRole("button", { name: "More" }).click();
    await expect(page.locator("dialog .about")).toHaveText("5 more votes to the first 10.");
  });

  test("the rank is on the baseline of the title, and the host behind it", async ({ page }) => {
    await page.goto("/");
    await expect(rows(page)).toHaveCount(25);
    const found = await rows(page).evaluateAll((all) =>
      all.map((row) => {
        // A box of no height stands on the baseline.
        const baseline = (selector: string) => {
          const mark = document.createElement("span");
          mark.style.display = "inline-block";
          row.querySelector(selector)?.append(mark);
          const { bottom } = mark.getBoundingClientRect();
          mark.remove();
          return bottom;
        };
        const box = (selector: string) => row.querySelector(selector)?.getBoundingClientRect();
        const [title, host] = [box(".title"), box(".host")];
        return {
          apart: Math.abs(baseline(".rank") - baseline(".title")),
          behind: !title || !host || (host.left >= title.right && host.top < title.bottom),
        };
      }),
    );
    for (const { apart, behind } of found) {
      expect(apart).toBeLessThan(1);
      expect(behind).toBe(true);
    }
  });

  for (const [path, ...selectors] of [
    ["/", ".rank"],
    ["/g/web", "main h1", "footer p"],
    ["/u/user1", "main h1"],
    ["/groups", "main h1"],
    ["/top/day", "main h1"],
    ["/past", "main h1"],
    ["/votes", "main h1"],
    ["/lab", "main h1"],
    ["/submit", "main h1"],
    ["/signin", "main h1"],
    ["/g/none", ".empty h2"],
    ["/a/4", "article h1"],
    ["/a/1", ".facts", "h1", ".source", ".actions"],
  ] as const)
    test(`${path} begins at the left edge of all pages`, async ({ page }) => {
      await page.goto(path);
      for (const selector of selectors) {
        await expect(page.locator(selector).first()).toBeVisible();
        const [[brand], [box]] = [await boxes(page, ".brand"), await boxes(page, selector)];
        expect(box?.left, selector).toBe(brand?.left);
      }
    });

  test("the notice of new articles moves nothing, stays on the screen, and leads to them", async ({
    page,
    server,
    watch,
  }) => {
    await page.goto("/");
    await expect(rows(page)).toHaveCount(25);
    await watch.live(page, "articlePosted");
    const before = await boxes(page, ".row");
    await server.post({ title: "New" });
    const notice = button(page, "1 new article");
    await expect(notice).toBeVisible();
    expect(await boxes(page, ".row")).toEqual(before);
    await page.mouse.wheel(0, 900);
    await expect(notice).toBeInViewport();
    await notice.click(); // on Hot, the article may be anywhere
    await expect(page).toHaveURL("/new");
    await expect(rows(page).first().locator(".title")).toHaveText("New");
  });
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test("the vote is one target of 64 px, as high as its row", async ({ page }) => {
    await page.goto("/");
    await expect(rows(page)).toHaveCount(25);
    const [all, targets] = [await boxes(page, ".row"), await boxes(page, ".row .up")];
    all.forEach(({ top, right, height }, i) => {
      expect(height).toBeGreaterThanOrEqual(76);
      expect(targets[i]).toMatchObject({ top, right: right + 14, width: 64 });
      expect(targets[i]?.height).toBeGreaterThanOrEqual(height - 1); // the line below
    });
    await expect(rows(page).first().getByRole("button", { name: "Vote down" })).toBeHidden();
    await choose(rows(page).nth(3), "Vote down");
    await expect(rows(page).nth(3).locator(".votes")).toHaveAttribute("data-own", "DOWN");
  });
});

/** The targets of a page that are lower or narrower than 44 px, and what is outside the screen. */
const faults = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll((all) =>
    all
      .map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }))
      .filter(({ box: { left, right, top, bottom, width } }) => {
        const small = width < 44 || bottom - top < 44;
        return width > 0 && (small || left < 0 || right > innerWidth || top < 0 || bottom > innerHeight);
      })
      .map(({ text, box }) => `${text} ${JSON.stringify(box)}`),
  );

test.describe("the actions of a phone", () => {
  test.use({
    viewport: { width: 390, height: 844 },
    settings: {
      FRONTPAGE_MODERATORS: "ada",
      FRONTPAGE_SITE_RULES: "No adverts, not even small ones. ".repeat(5),
    },
  });

  test("are targets of 44 px, and on the screen @core", async ({ page }) => {
    await page.goto("/a/1");
    expect(await faults(page, ".actions > button, .actions > .votes")).toEqual([]);
    await page.locator(".actions .open").click();
    await expect(button(page, "Report")).toBeVisible();
    expect(await faults(page, "#acts, #acts button")).toEqual([]);
    await page.keyboard.press("Escape");
    await button(page, "Menu").click();
    expect(await faults(page, "#menu, #menu > :is(a, button), #menu label")).toEqual([]);
    for (const [path, ...selectors] of [
      ["/g/web", ".heading :is(button, a)"],
      ["/top/day", ".heading nav a"],
      ["/past", ".heading nav a", ".find .button"],
      ["/submit", "#link", ".chips"],
      ["/mod", ".heading nav a"],
    ] as const) {
      await page.goto(path);
      for (const selector of selectors) {
        await expect(page.locator(selector).first()).toBeVisible();
        const low = (await boxes(page, selector)).filter(({ height }) => height < 42);
        expect(low, `${path} ${selector}`).toEqual([]);
      }
    }
    await page.goto("/");
    for (const selector of [".who .button", ".who .open"]) {
      const target = page.locator(selector);
      const at = await target.evaluate((one) => {
        const { left, top, bottom } = one.getBoundingClientRect();
        const hit = (y: number) => one.contains(document.elementFromPoint(left + 4, y));
        return [hit(top - 5), hit(bottom + 5)];
      });
      expect(at, selector).toEqual([true, true]);
    }
  });

  test("fit into one line of 360 px, as the spans of the top articles do", async ({ page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto("/a/1");
    await expect(button(page, "Save")).toBeVisible();
    const [bar] = await boxes(page, ".actions");
    expect(bar?.height).toBeLessThanOrEqual(66);
    await page.goto("/top/day");
    const tops = (await boxes(page, ".heading nav a")).map(({ top }) => top);
    expect(new Set(tops).size).toBe(1);
  });

  test("show where an article stands without saying it twice", async ({ page }) => {
    await page.goto("/a/1");
    await page.locator(".standing > .narrow").click();
    await expect(page.locator(".standing > div")).toBeVisible();
    await expect(page.locator(".standing strong").filter({ visible: true })).toHaveCount(1);
  });

  test("name examples in the colour of hints, which can be read in the dark, too", async ({ page }) => {
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto("/submit");
    const hint = await page
      .locator(".form .about")
      .first()
      .evaluate((one) => getComputedStyle(one).color);
    const example = await page
      .locator("#link")
      .evaluate((one) => getComputedStyle(one, "::placeholder").color);
    expect(example).toBe(hint);
  });

  test("have room in dialogs: a long rule makes none wider than the screen", async ({ page }) => {
    await page.goto("/");
    await choose(rows(page).nth(1), "Author");
    const dialog = page.locator("dialog.act");
    await expect(dialog.locator("select").first()).toBeVisible();
    expect(await faults(page, "dialog.act, dialog.act .button")).toEqual([]);
    expect(await dialog.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
  });
});

test("lists without ranks begin at the left edge, and say on a phone when one voted", async ({
  page,
  server,
}) => {
  const [first] = await server.articles();
  if (!first) throw new Error("there are no articles");
  await server.vote(first, "UP", "ada");
  await page.goto("/votes");
  const arrow = page.locator(".row .up svg");
  await expect(arrow).toBeVisible();
  const [[brand], [box]] = [await boxes(page, ".brand"), await boxes(page, ".row .up svg")];
  expect(box?.left).toBeCloseTo(brand?.left ?? 0, 0);
  await page.setViewportSize({ width: 390, height: 844 });
  const [[facts], [note]] = [await boxes(page, ".row .facts"), await boxes(page, ".row .note")];
  expect(note?.bottom).toBeLessThanOrEqual(facts?.bottom ?? 0);
});

test("groups with long names take no more space than others", async ({ page, server }) => {
  const name = "long".repeat(16);
  await server.post({ title: "One", groups: [name] });
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto("/groups");
    await expect(page.getByRole("link", { name })).toBeVisible();
    const heights = (await boxes(page, ".groups a")).map(({ height }) => height);
    expect(new Set(heights).size).toBe(1);
  }
});

test("the time left to vote shows in lists in its last day only", async ({ page, server }) => {
  const article = await server.post({ title: "Quick", groups: ["quick"] });
  const facts = shown(page, article).locator(".facts");
  await page.clock.install();
  await page.goto("/g/quick");
  await expect(facts).toContainText("ben");
  await expect(facts).not.toContainText("vot");
  await page.clock.fastForward(145.5 * hour);
  await expect(facts).toContainText("22 hours left to vote");
  await page.clock.fastForward(24 * hour);
  await expect(facts).toContainText("7 d");
  await expect(facts).not.toContainText("vot");
});

test("an article of many groups names three of them", async ({ page, server }) => {
  const article = await server.post({ title: "Many", groups: ["a", "b", "c", "d", "e"] });
  await page.goto("/new");
  const groups = shown(page, article).locator(".group");
  await expect(groups).toHaveText(["Group a", "Group b", "Group c"]);
  const more = shown(page, article).getByRole("link", { name: "more groups" });
  await expect(more).toHaveText("+2+4 more groups");
  await more.click();
  await expect(page.locator("article .group")).toHaveText(
    ["a", "b", "c", "d", "e"].map((name) => `Group ${name}`),
  );
});

test("an article's page has what else is in its groups, and shares its address", async ({
  page,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/a/1");
  const neighbours = page.locator(".neighbours").first();
  await expect(neighbours.getByRole("heading")).toHaveText("Also in databases");
  await expect(neighbours.getByRole("listitem")).toHaveCount(3);
  const source = page.locator(".source a");
  await expect(source).toHaveAttribute("href", "https://www.news0.example.org/2026/0");
  await expect(source).toHaveText("news0.example.org /2026/0");
  await page.evaluate(() => Object.defineProperty(navigator, "share", { value: undefined }));
  await button(page, "Share").click();
  await expect(page.locator(".message")).toHaveText("The link has been copied.");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
});

test("an article's page has others of the same host", async ({ page, server }) => {
  const link = "http://NEWS0.example.org:80/2";
  const other = await server.post({ title: "Second from there", link });
  await page.goto("/a/1");
  const from = page.locator(".neighbours").filter({ hasText: "Also from news0.example.org" });
  await expect(from.getByRole("listitem")).toHaveText(/^Second from there 1 vote, /);
  await page.goto("/new");
  await shown(page, other).locator("time").click(); // without the server's page
  await expect(from.getByRole("listitem")).toHaveCount(1);
  await from.getByRole("link", { name: "news0.example.org" }).click();
  await expect(page).toHaveURL("/from/news0.example.org");
  await expect(page.locator(".heading")).toHaveText("news0.example.org2 articles, newest first.");
  await expect(rows(page).locator(".title")).toHaveText(["Second from there", "Pardon Snowden"]);
  await page.goBack();
  await from.getByRole("link", { name: "Pardon Snowden" }).click();
  await expect(page).toHaveURL("/a/1");
  await page.goto("/a/2");
  await expect(page.locator(".standing")).toBeVisible();
  await expect(page.getByText("Also from")).toHaveCount(0);
});

test("a user's page says when they first posted", async ({ page, server }) => {
  await server.post({ title: "Second" }, "user29");
  await page.goto("/u/user29");
  await expect(rows(page)).toHaveCount(2);
  const date = new Date((now - 29 * 3600) * 1000).toLocaleDateString("en-GB", {
    dateStyle: "long",
    timeZone: "Asia/Tokyo",
  });
  await expect(page.locator(".heading")).toContainText("2 articles, newest first.");
  await expect(page.locator(".heading")).toContainText(`First article posted on ${date}.`);
});

test.describe("the colours", () => {
  test.use({ colorScheme: "light" });

  test("can be chosen, and the choice holds before the first script", async ({ page }) => {
    const isDark = () =>
      page.evaluate(() => getComputedStyle(document.body).backgroundColor === "rgb(22, 22, 20)");
    await page.goto("/");
    await expect.poll(isDark).toBe(false);
    await button(page, "Menu").click();
    await page.getByRole("radio", { name: "Dark" }).check();
    await expect.poll(isDark).toBe(true);
    await page.route("**/site.js", (route) => route.fulfill({ body: "", contentType: "text/javascript" }));
    await page.reload();
    await expect.poll(isDark).toBe(true);
    await page.unrouteAll();
    await page.reload();
    await button(page, "Menu").click();
    await page.getByRole("radio", { name: "System" }).check();
    await expect.poll(isDark).toBe(false);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(isDark).toBe(true);
  });
});

for (const [language, signIn] of [
  ["en", "Sign in"],
  ["de", "Anmelden"],
] as const)
  test.describe(`the header in ${language}`, () => {
    test.use({ settings: { FRONTPAGE_SITE_LANGUAGE: language }, viewer: "" });

    test("takes two lines on a phone, and the menu has what it has no room for", async ({
      page,
      another,
    }) => {
      const signedIn = await another("marguerite");
      for (const width of [320, 360, 390])
        for (const visitor of [page, signedIn]) {
          await visitor.setViewportSize({ width, height: 800 });
          await visitor.goto("/new");
          const [header] = await boxes(visitor, "header.top");
          expect(header?.height, `${width} px`).toBeLessThanOrEqual(90);
          const cut = await visitor
            .locator("header.top :is(nav, .brand span)")
            .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
          expect(cut, `${width} px`).toBe(0);
          const link = visitor.getByRole("link", { name: visitor === page ? signIn : "marguerite" });
          if (width < 384 || visitor === signedIn) {
            await expect(link).toBeHidden();
            await visitor.locator(".open").click();
          }
          await expect(link).toBeVisible();
        }
    });
  });

for (const [way, enlarge] of [
  [
    "by the setting of the browser",
    async (page: Page) => {
      const session = await page.context().newCDPSession(page);
      await session.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
    },
  ],
  [
    "by zoom of the text alone",
    (page: Page) =>
      page.addInitScript(() =>
        addEventListener("DOMContentLoaded", () => {
          document.documentElement.style.fontSize = "200%";
        }),
      ),
  ],
] as const)
  test(`text of twice the size ${way} is not cut on a phone @core`, async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await enlarge(page);
    for (const path of [
      "/",
      "/new",
      "/g/databases",
      "/a/1",
      "/u/user1",
      "/groups",
      "/top/week",
      "/past",
      "/lab",
      "/submit",
      "/signin",
    ]) {
      await page.goto(path);
      await expect(page.locator("main :is(h1, h2)").first()).toBeAttached();
      await expect(page.locator(".skeleton")).toHaveCount(0);
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>("body *")]
          .filter(
            (box) =>
              getComputedStyle(box).overflowX === "hidden" && !box.closest(".unseen, svg, dialog, [popover]"),
          )
          .filter((box) => !(box.matches("span") && box.closest(".who .button"))) // a plus stands for it
          .filter((box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1)
          .map((box) => box.outerHTML.slice(0, 150)),
      );
      expect.soft(cut, path).toEqual([]);
      expect.soft(await overflow(page), path).toBeLessThanOrEqual(0);
    }
    await page.goto("/a/1");
    const [bar] = await boxes(page, ".actions");
    expect.soft(bar?.height).toBeLessThanOrEqual(844 / 6);
    for (const [opener, menu] of [
      [".top .open", "#menu"],
      [".actions .open", "#acts"],
    ] as const) {
      await page.locator(opener).click();
      const [box] = await boxes(page, menu);
      expect.soft(box?.left, menu).toBeGreaterThanOrEqual(0);
      expect.soft(box?.right, menu).toBeLessThanOrEqual(390);
      expect.soft(box?.bottom, menu).toBeLessThanOrEqual(844);
      await page.keyboard.press("Escape");
    }
  });

for (const width of [320, 640, 1920])
  test(`no page overflows at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    const paths = ["/", "/a/1", "/u/user1", "/groups", "/top/all", "/past", "/lab", "/submit", "/signin"];
    for (const path of paths) {
      await page.goto(path);
      await expect(page.locator("main :is(h1, h2)").first()).toBeAttached();
      await expect(page.locator(".skeleton")).toHaveCount(0);
      expect(await overflow(page), path).toBeLessThanOrEqual(0);
    }
    await button(page, "Menu").click();
    const [menu] = await boxes(page, "#menu");
    expect(menu?.left).toBeGreaterThanOrEqual(0);
    expect(menu?.right).toBeLessThanOrEqual(width);
  });
