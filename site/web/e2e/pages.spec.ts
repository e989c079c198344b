import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { button, gate, manyArticles, onOperation, rows, shown, up, votes } from "./helpers";

// The server renders these pages, and the script takes them over. See package pages.

const ago = (minutes: number) => Math.floor(Date.now() / 1000) - minutes * 60;
const day = 24 * 60;

const different = `id,title,link,votes,poster,posted_at,groups
1,"A link, with <b>tags</b> & ""quotes""",https://www.example.org/a?b=c&d=%20e,250,ada,${ago(0)},go web
2,Without a link,,1,o'neil & sons,${ago(61)},
3,Many groups,http://localhost:8080/x,1234,ben,${ago(3 * 60 + 1)},a b.c d-e f_g h
4,In its last day,https://bücher.example/ä?ö,3,über,${ago(6.5 * day)},über
5,Voted down,https://example.net,-2,ben,${ago(2 * day)},go
6,Closed,https://sub.example.co.uk:443/,7,ben,${ago(30 * day)},go
7,Last year,https://example.com/,12,ben,${ago(400 * day)},go
8,Of the same host,http://EXAMPLE.org:80/8,1,ada,${ago(5)},
9,"Another, <i>of</i> the same host",https://example.org./9,2,ben,${ago(25 * 60)},
`;

/** The elements and texts of a part of the page. Links are as browsers follow them, without escapes. */
const tree = (part: Locator): Promise<string[]> =>
  part.evaluateAll((elements) => {
    const write = (node: Node): string => {
      if (node instanceof Text) return node.data;
      if (!(node instanceof Element)) return "";
      const attributes = [...node.attributes].map(
        ({ name, value }) =>
          ` ${name}="${name === "href" ? decodeURIComponent((node as HTMLAnchorElement).href) : value}"`,
      );
      return `<${node.localName}${attributes.sort().join("")}>${[...node.childNodes].map(write).join("")}</${node.localName}>`;
    };
    return elements.map(write).join("").split(/(?=<)/);
  });

/** Keeps the script from taking over the page. */
async function withoutScript(page: Page): Promise<void> {
  await page.addInitScript(() => Object.assign(window, { isUntaken: true }));
  await page.route("**/assets/site.js", (route) => route.abort());
}

/** The operations that a page asks for. */
function asked(page: Page): string[] {
  const operations: string[] = [];
  page.on("request", (request) => {
    if (new URL(request.url()).pathname === "/query")
      operations.push(request.postDataJSON()?.operationName ?? "");
  });
  return operations;
}

interface Recorded {
  /** What moved without the visitor's doing. */
  shifts: string[];
  rendered: Element[];
}

/** Records from the start what moves, and what the server has rendered. */
const record = (page: Page) =>
  page.addInitScript(() => {
    const seen: Recorded = { shifts: [], rendered: [] };
    Object.assign(globalThis, { seen });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { sources } = entry as unknown as { sources: { node: Node | null }[] };
        const moved = sources.map(({ node }) =>
          node instanceof Element ? node.outerHTML : node?.textContent,
        );
        seen.shifts.push(moved.map((text) => text?.slice(0, 80)).join(", "));
      }
    }).observe({ type: "layout-shift", buffered: true });
    addEventListener("DOMContentLoaded", () => {
      seen.rendered = [...document.querySelectorAll("main *")];
    });
  });

const recorded = (page: Page) =>
  page.evaluate(() => {
    const { seen } = globalThis as unknown as { seen: Recorded };
    const kept = seen.rendered.filter((element) => element.isConnected).length;
    return { shifts: seen.shifts, all: seen.rendered.length, kept };
  });

/** Waits until the script has taken over the page, and is connected. */
async function takenOver(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector(".menu fieldset"));
  await page.waitForLoadState("networkidle");
}

test.describe("with all kinds of articles", () => {
  test.use({ csv: different, viewer: "" });

  // The script adds a date to the pages of users: the server does not know the time zone of the visitor.
  const parts = "main h1, main nav, main .list, main > .groups, main > .empty, main > form";
  for (const path of [
    "/",
    "/new",
    "/g/go",
    "/g/go/new",
    "/u/ben",
    "/top/all",
    "/from/example.org",
    "/from/none.example",
    "/groups",
    "/past/2020-02-29?hour=7",
    "/g/nothing",
    "/u/unknown",
    "/a/99",
    "/a/x",
    "/nope",
    "/u/a/b",
  ]) {
    test(`the server renders ${path} as the script does`, async ({ page, another, watch }) => {
      watch.allowed.push(/site\.js/, /status of 404/);
      const plain = await another("");
      await withoutScript(plain);
      await expect(async () => {
        await plain.goto(path);
        const rendered = await tree(plain.locator(parts));
        await page.goto(path);
        await takenOver(page);
        expect(await tree(page.locator(parts))).toEqual(rendered);
      }).toPass({ timeout: 120_000 }); // a text may say another minute
    });
  }

  test("the server renders articles as the script does @core", async ({ page, another, watch }) => {
    watch.allowed.push(/site\.js/);
    const plain = await another("");
    await withoutScript(plain);
    const parts =
      '.article h1, .article .source, .article .facts, .article .text, .article .votes, .neighbours:has([href^="/from/"])';
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      await expect(async () => {
        await plain.goto(`/a/${number}`);
        const rendered = await tree(plain.locator(parts));
        expect(rendered.length).toBeGreaterThan(2);
        expect(rendered.join("").includes("Also from")).toBe([1, 8, 9].includes(number));
        await page.goto(`/a/${number}`);
        await takenOver(page);
        expect(await tree(page.locator(parts))).toEqual(rendered);
      }).toPass({ timeout: 120_000 }); // a text may say another minute
    }
  });
});

test.describe("takeover", () => {
  test.use({ csv: manyArticles(40), viewer: "" });

  for (const [path, more] of [
    ["/", []],
    ["/new", []],
    ["/g/many", []],
    ["/u/ben", []],
    ["/top/all", []],
    ["/from/example.org", []],
    ["/groups", []],
    ["/a/3", ["Neighbours", "Standing"]],
  ] as const) {
    test(`${path} is taken over without asking again, and nothing moves`, async ({ page }) => {
      const operations = asked(page);
      let configurations = 0;
      page.on("request", (request) => {
        if (request.url().endsWith("/config.json")) configurations++;
      });
      await record(page);
      await page.goto(path);
      await takenOver(page);
      const seen = await recorded(page);
      expect(seen.shifts).toEqual([]);
      expect(seen.all).toBeGreaterThan(5);
      if (path !== "/groups") expect(seen.kept).toBe(seen.all);
      expect(operations.sort()).toEqual([...more]);
      expect(configurations).toBe(1);
    });
  }

  for (const late of ["Standing", "Neighbours"]) {
    test(`nothing moves on the page of an article if ${late} come last`, async ({ page }) => {
      const { open, opened } = gate();
      await onOperation(page, late, async (route) => {
        await opened;
        await route.continue();
      });
      await record(page);
      const other = page.waitForResponse(
        (response) =>
          response.url().endsWith("/query") && response.request().postDataJSON().operationName !== late,
      );
      await page.goto("/a/3");
      await other;
      await expect(page.getByRole("button", { name: "Share" })).toBeVisible();
      await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      ); // painted
      open();
      await expect(page.locator(".standing")).toBeVisible();
      await expect(page.getByRole("heading", { name: "Also in many" })).toBeVisible();
      await takenOver(page);
      expect((await recorded(page)).shifts).toEqual([]);
    });
  }

  test("what the page shows is live: votes arrive, and a vote can be cast @core", async ({
    page,
    server,
    watch,
  }) => {
    await page.goto("/");
    await watch.live(page, "articleChanged");
    const article = (await server.articles())[0];
    if (!article) throw new Error("no articles");
    await server.vote(article, "UP", "cleo");
    await expect(votes(shown(page, article))).toHaveText(`${article.votes + 1}`);
    await server.post({ title: "Fresh" });
    await expect(page.getByRole("button", { name: "1 new article" })).toBeVisible();
    await up(shown(page, article)).click();
    await expect(page).toHaveURL(/\/signin/);
  });

  test("what changed since the page was rendered is shown", async ({ page, server, watch }) => {
    const article = await server.post({ title: "Before" });
    await page.route("**/assets/site.js", async (route) => {
      await server.vote(article, "UP", "cleo");
      await route.continue();
    });
    await page.goto(`/a/${article.number}`);
    await watch.live(page, "articleChanged");
    await expect(votes(shown(page, article))).toHaveText("2");
  });

  test("the next part of a list is loaded, and links work", async ({ page }) => {
    const operations = asked(page);
    await page.goto("/");
    await expect(rows(page)).toHaveCount(25);
    await page.mouse.wheel(0, 10_000);
    await expect(rows(page)).toHaveCount(40);
    await rows(page).first().getByRole("link", { name: "ben" }).click();
    await expect(page).toHaveURL("/u/ben");
    await expect(rows(page).first()).toBeVisible();
    expect(operations).toEqual(["Articles", "UserArticles"]);
    expect(
      await page.locator("link[rel=canonical]").count(),
      "the canonical address was that of the first page",
    ).toBe(0);
  });
});

test.describe("before the script has taken over the page", () => {
  test.use({ csv: manyArticles(30), viewer: "" });

  /** Opens a page whose script is not loaded before the returned function is called. */
  async function openEarly(page: Page, path: string): Promise<() => void> {
    const { open, opened } = gate();
    await page.route("**/assets/site.js", async (route) => {
      await opened;
      await route.continue();
    });
    await page.goto(path, { waitUntil: "commit" });
    await expect(rows(page).last().or(page.getByRole("article"))).toBeVisible();
    return open;
  }

  for (const path of ["/", "/a/3"])
    test(`a vote on ${path} is cast`, async ({ another, server }) => {
      const page = await another("ada");
      await page.goto("/new"); // where the window learns how users sign in
      await expect(page.getByRole("link", { name: "ada", exact: true })).toBeVisible();
      const load = await openEarly(page, path);
      const article = await server.article({ id: "article:3" });
      await up(shown(page, article)).click();
      await up(shown(page, article)).click(); // nothing has happened
      await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "false");
      load();
      await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
      await expect.poll(async () => (await server.article(article)).votes).toBe(article.votes + 1);
    });

  test("votes are cast after those that the previous page could not @core", async ({ another, server }) => {
    const page = await another("ada");
    await page.goto("/new");
    await expect(page.getByRole("link", { name: "ada", exact: true })).toBeVisible();
    const [earlier, one, two] = await Promise.all(
      [3, 4, 5].map((number) => server.article({ id: `article:${number}` })),
    );
    const unanswered = [{ id: "x", name: "Vote", viewer: "ada", sentAt: Date.now() }].map((mutation) => ({
      ...mutation,
      input: { article: "article:3", direction: "UP" },
    }));
    await page.evaluate(
      (all) => sessionStorage.setItem("frontpage.unanswered", all),
      JSON.stringify(unanswered),
    );
    const load = await openEarly(page, "/");
    for (const article of [earlier, one, two]) if (article) await up(shown(page, article)).click();
    load();
    for (const article of [earlier, one, two])
      if (article) {
        await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
        await expect.poll(async () => (await server.article(article, "ada")).viewerVote).toBe("UP");
      }
  });

  test("a vote of an anonymous visitor leads to signing in", async ({ page }) => {
    const load = await openEarly(page, "/");
    await up(rows(page).nth(5)).click();
    load();
    await expect(page).toHaveURL("/signin?to=%2F");
  });

  test("the menu stays open", async ({ page }) => {
    const load = await openEarly(page, "/");
    await button(page, "Menu").click();
    load();
    await expect(page.getByRole("radio", { name: "Dark" })).toBeVisible();
  });

  test("the menu of an article opens", async ({ page }) => {
    const load = await openEarly(page, "/");
    await button(page, "More").nth(2).click();
    load();
    await expect(page.getByRole("dialog")).toContainText("Why it ranks here");
  });
});

test.describe("for a visitor whom the server does not know", () => {
  test.use({ csv: manyArticles(30), viewer: "ada" });

  test("the page stays as it is until it is asked for again", async ({ page, server }) => {
    const article = (await server.articles())[2];
    if (!article) throw new Error("no articles");
    await server.vote(article, "UP", "ada");
    const operations = asked(page);
    await page.addInitScript(() => {
      const seen = { least: 25 };
      Object.assign(globalThis, { seen });
      addEventListener("DOMContentLoaded", () => {
        new MutationObserver(() => {
          seen.least = Math.min(seen.least, document.querySelectorAll("li[data-id]").length);
        }).observe(document.documentElement, { childList: true, subtree: true });
      });
    });
    await page.goto("/");
    await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
    await takenOver(page);
    expect(operations).toEqual(["Articles"]);
    expect(await page.evaluate(() => (globalThis as unknown as { seen: { least: number } }).seen.least)).toBe(
      25,
    );
  });
});

test.describe("for a visitor whom a proxy has signed in", () => {
  test.use({
    csv: manyArticles(30),
    viewer: "",
    settings: { FRONTPAGE_PROXY_USER_HEADER: "X-User", FRONTPAGE_TRUSTED_PROXIES: "127.0.0.0/8" },
    extraHTTPHeaders: { "X-User": "ada" },
  });

  test("the page has their votes, and is not asked for again", async ({ page, server }) => {
    await page.goto("/");
    const [article] = await server.articles();
    if (!article) throw new Error("no articles");
    const vote = up(shown(page, article));
    await vote.click();
    await expect(vote).toHaveAttribute("aria-pressed", "true");
    await takenOver(page);
    const operations = asked(page);
    await page.goto("/new");
    await page.goto("/");
    await takenOver(page);
    await expect(vote).toHaveAttribute("aria-pressed", "true");
    await expect(page.getByRole("link", { name: "ada", exact: true })).toBeVisible();
    expect(operations).toEqual([]);
  });
});

test.describe("without JavaScript", () => {
  test.use({ csv: manyArticles(40), viewer: "", javaScriptEnabled: false });

  test("all articles can be read, and links lead on @core", async ({ page, server }) => {
    await server.post({ title: "Of tides", text: "Read https://example.org/tides.", groups: ["sea"] });
    await page.goto("/new");
    await expect(page).toHaveTitle("New articles · Frontpage");
    await button(page, "Menu").click();
    await expect(page.locator("#menu").getByRole("link", { name: "Feed" })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(rows(page)).toHaveCount(25);
    await page.getByRole("link", { name: "More articles" }).click();
    await expect(rows(page)).toHaveCount(16);
    await expect(page.getByRole("link", { name: "More articles" })).toHaveCount(0);
    await page.getByRole("link", { name: "Go to the top" }).click();
    await page.getByRole("link", { name: "Of tides" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Of tides");
    await expect(page.locator(".text")).toHaveText("Read https://example.org/tides.");
    await page.getByRole("link", { name: "Group sea" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("sea");
    await expect(rows(page)).toHaveCount(1);
    await page.getByRole("link", { name: "Groups" }).click();
    await page.getByRole("link", { name: /many/ }).click();
    await expect(rows(page)).toHaveCount(25);
    await page.getByRole("link", { name: "Top", exact: true }).click();
    await page.getByRole("link", { name: "All time" }).click();
    await expect(rows(page)).toHaveCount(25);
  });
});
