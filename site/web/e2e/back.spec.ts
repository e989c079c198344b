import { createHmac } from "node:crypto";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { banner, manyArticles, message, rows, signedIn, signedOut, signOut, up } from "./helpers";
import { windowedChromium } from "./programs";
import { test as provided, signInAs } from "./provider";

// The browser's back/forward cache, which Playwright turns off, keeps pages as they were left, with their scripts.
const launchOptions = {
  executablePath: windowedChromium,
  args: ["--no-sandbox", "--disable-gpu"],
  ignoreDefaultArgs: ["--disable-back-forward-cache"],
};
test.use({ launchOptions, csv: manyArticles(3), viewer: "" });
provided.use({ launchOptions, csv: manyArticles(3), viewer: "" });

/** Opens a page that notes whether the browser restores it. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.evaluate(() =>
    addEventListener("pageshow", ({ persisted }) => {
      document.documentElement.dataset.restored = `${persisted}`;
    }),
  );
}

/** Goes back to a page that the browser has kept. */
async function back(page: Page, path: string, steps = 1): Promise<void> {
  await page.evaluate((steps) => history.go(-steps), steps);
  await expect(page).toHaveURL(path);
  await expect(page.locator("html")).toHaveAttribute("data-restored", "true");
}

async function signInByName(page: Page, name: string): Promise<void> {
  await banner(page).getByRole("link", { name: "Sign in" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Sign in" }).click();
  await signedIn(page, name);
}

test.describe("by name", () => {
  test("who signs out is signed out on the pages before, and what was private is gone @core", async ({
    page,
    server,
  }) => {
    await page.goto("/");
    await signInByName(page, "ada");
    const [first] = await server.articles();
    await up(rows(page).first()).click();
    await expect(up(rows(page).first())).toHaveAttribute("aria-pressed", "true");
    await open(page, "/votes");
    await expect(rows(page)).toHaveCount(1);
    await open(page, "/");
    await signedIn(page, "ada");
    await page.goto("/groups");
    await signOut(page);
    await signedOut(page);

    await back(page, "/");
    await signedOut(page);
    await expect(up(rows(page).first())).toHaveAttribute("aria-pressed", "false");
    const before = await server.articles();
    await up(rows(page).nth(1)).click();
    await expect(page).toHaveURL(/\/signin/);
    expect(await server.articles()).toEqual(before);
    expect(before[0]?.votes).toBe((first?.votes ?? 0) + 1);

    await back(page, "/votes", 2);
    await signedOut(page);
    await expect(rows(page)).toHaveCount(0);
  });

  test("who signs in, or signs in as another user, is that user on the pages before", async ({
    page,
    server,
  }) => {
    await open(page, "/");
    await signedOut(page);
    await page.goto("/groups");
    await signInByName(page, "ada");
    await back(page, "/", 2);
    await signedIn(page, "ada");

    await page.goto("/groups");
    await signOut(page);
    await signInByName(page, "cleo");
    await back(page, "/", 2);
    await signedIn(page, "cleo");
    await up(rows(page).nth(1)).click();
    await expect(up(rows(page).nth(1))).toHaveAttribute("aria-pressed", "true");
    const id = (await rows(page).nth(1).getAttribute("data-id")) ?? "";
    await expect.poll(async () => (await server.article({ id }, "cleo")).viewerVote).toBe("UP");
    expect((await server.article({ id }, "ada")).viewerVote).toBe("NONE");
  });
});

test.describe("by token", () => {
  const secret = "a secret of at least thirty-two bytes";
  test.use({ settings: { FRONTPAGE_JWT_SECRET: secret } });

  test("a token that another window has replaced or removed meanwhile is not used", async ({
    page,
    context,
  }) => {
    const token = (sub: string) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const signed = `${part({ alg: "HS256" })}.${part({ sub, exp: Math.floor(Date.now() / 1000) + 600 })}`;
      return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
    };
    const other = await context.newPage();
    await other.goto("/healthz");
    const store = (value: string) =>
      other.evaluate((value) => localStorage.setItem("frontpage.token", value), value);
    await store(token("ada"));
    await open(page, "/");
    await signedIn(page, "ada");
    await page.goto("/healthz");
    await store(token("ben"));
    await back(page, "/");
    await signedIn(page, "ben");
    await page.goto("/healthz");
    await store("");
    await back(page, "/");
    await signedOut(page);
  });
});

provided.describe("by a provider", () => {
  provided.slow();
  provided.beforeEach(({ watch, provider }) => void watch.origins.push(provider.url));

  const signIn = async (page: Page, name: string) => {
    await banner(page).getByRole("link", { name: "Sign in" }).click();
    await signInAs(page, name);
    await signedIn(page, name);
  };

  provided(
    "the pages before, and those of other windows, follow the cookie @core",
    async ({ page, context }) => {
      await page.goto("/");
      await signIn(page, "alice");
      await open(page, "/votes");
      await expect(page.getByRole("heading", { name: "No votes yet" })).toBeVisible();
      await page.goto("/groups");
      const [cookie] = (await context.cookies()).filter(({ name }) => name === "frontpage-session");
      await context.clearCookies({ name: "frontpage-session" }); // without a page that could tell
      await back(page, "/votes");
      await signedOut(page);
      await expect(page.getByRole("heading", { name: "No votes yet" })).toHaveCount(0);
      await page.goto("/groups");
      if (cookie) await context.addCookies([cookie]);
      await back(page, "/votes");
      await signedIn(page, "alice");

      const other = await context.newPage();
      await other.goto("/");
      await signedIn(other, "alice");
      await signOut(other);
      await signedOut(other);
      await signedOut(page);
      await signIn(other, "bob");
      await signedIn(page, "bob");
      await expect(message(page)).toHaveText(""); // it had not to wait until the server ended its session
    },
  );

  provided("after signing out, no page before shows who it was", async ({ page, server }) => {
    await server.stop();
    await server.start({ FRONTPAGE_PUBLIC_LOG: "true" });
    await page.goto("/");
    await signIn(page, "alice");
    await open(page, "/new");
    await page.goto("/log");
    await page.goto("/groups");
    await signOut(page);
    await signedOut(page);
    for (const path of ["/groups", "/log", "/new"]) {
      await page.evaluate(() => history.back());
      await expect(page).toHaveURL(path);
      await expect(banner(page).getByText("alice")).toHaveCount(0);
    }
  });
});
