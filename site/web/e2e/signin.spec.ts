import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import {
  action,
  choose,
  gate,
  message,
  onOperation,
  signedIn,
  signedOut,
  signOut,
  up,
  votes,
} from "./helpers";

const secret = "a secret of at least thirty-two bytes";

/** Returns an HS256 token for a user that expires after some seconds. */
function token(sub: string, seconds = 600, roles: string[] = []): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub, exp, roles })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const storeToken = (page: Page, value: string) =>
  page.evaluate((value) => localStorage.setItem("frontpage.token", value), value);

test.describe("by name", () => {
  test.use({ viewer: "" });

  test("each window can have its own user, and keeps it @core", async ({ page, context }) => {
    const signIn = async (window: Page, name: string) => {
      await window.goto("/");
      await window.getByRole("link", { name: "Sign in" }).click();
      await window.getByLabel("Name").fill(name);
      await window.getByRole("button", { name: "Sign in" }).click();
      await signedIn(window, name);
    };
    await signIn(page, "ada");
    const other = await context.newPage();
    await other.goto("/");
    await signedIn(other, "ada");
    await signOut(other);
    await expect(message(other)).toHaveText("You have signed out.");
    await signedOut(other);
    await other.reload();
    await signedOut(other);
    await signIn(other, "ben");
    await page.reload();
    await signedIn(page, "ada");
    await other.reload();
    await signedIn(other, "ben");
  });

  test("signing in only returns to pages of this site", async ({ page }) => {
    for (const [to, path] of [
      ["/g/go/new", "/g/go/new"],
      ["https://example.org/", "/"],
      ["//example.org/", "/"],
      ["javascript:alert(1)", "/"],
      ["/signin", "/"],
    ] as const) {
      await page.goto(`/signin?${new URLSearchParams({ to })}`);
      await page.getByLabel("Name").fill("ada");
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page).toHaveURL(path);
    }
  });
});

test.describe("by token", () => {
  test.use({ settings: { FRONTPAGE_JWT_SECRET: secret }, viewer: "" });
  test.beforeEach(({ watch }) => void watch.allowed.push(/status of 401/));

  test("a visitor enters a token, posts, votes and signs out @core", async ({ page }) => {
    await page.goto("/submit");
    await page.getByRole("main").getByRole("link", { name: "sign in" }).click();
    await page.getByLabel("Token").fill(`Bearer ${token("zoë")}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page).toHaveURL("/submit");
    await signedIn(page, "zoë");
    await page.getByLabel("Title").fill("By token");
    await page.getByLabel("Text").fill("Words.");
    await page.getByRole("button", { name: "Post" }).click();
    await expect(page).toHaveURL("/a/1");
    await expect(up(page.getByRole("article"))).toHaveAttribute("aria-pressed", "true");
    await up(page.getByRole("article")).click();
    await expect(votes(page.getByRole("article"))).toHaveText("0");
    await page.reload();
    await signedIn(page, "zoë");
    await expect(votes(page.getByRole("article"))).toHaveText("0");
    await signOut(page);
    await signedOut(page);
    await page.reload();
    await signedOut(page);
    await expect(page.getByRole("article")).toBeVisible();
  });

  test("a token stored by another window signs in, and its removal signs out", async ({ page, context }) => {
    await page.goto("/");
    await signedOut(page);
    const other = await context.newPage();
    await other.goto("/healthz");
    await storeToken(other, token("ada"));
    await signedIn(page, "ada");
    await storeToken(other, token("ben"));
    await signedIn(page, "ben");
    await other.evaluate(() => localStorage.removeItem("frontpage.token"));
    await signedOut(page);
  });

  test("an invalid or expired token signs out, and the page says so @core", async ({ page }) => {
    for (const value of [token("ada", -60), `${token("ada")}x`, "nonsense"]) {
      await page.goto("/healthz"); // an open page of the site would take the token over, and sign out first
      await storeToken(page, value);
      await page.goto("/");
      await expect(message(page)).toHaveText("You have been signed out. Please sign in again.");
      await signedOut(page);
      await expect(page.getByRole("heading", { name: "Welcome" })).toBeVisible();
      await expect(page.getByText("go run")).toHaveCount(0); // it is for operators
      expect(await page.evaluate(() => localStorage.getItem("frontpage.token"))).toBeNull();
    }
  });

  test("a wrong token in the form is an error there, and signs no user out", async ({ page }) => {
    await page.goto("/signin?to=/new");
    for (const [value, error] of [
      ["nonsense", "malformed"],
      [`${token("ada")}x`, "not signed"],
      [token("ada", -60), "expired"],
    ] as const) {
      await page.getByLabel("Token").fill(value);
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page.locator("#problem")).toContainText(error);
      await expect(page.getByLabel("Token")).toBeFocused();
      await expect(page).toHaveURL("/signin?to=/new");
    }
    await expect(message(page)).toHaveText("");
    await page.getByLabel("Token").fill(token("ada"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page).toHaveURL("/new");
    await signedIn(page, "ada");
  });

  test("a token that expires during a visit signs out, and the page says so", async ({ page }) => {
    await page.goto("/");
    await signedOut(page);
    await page.goto("/signin");
    await page.getByLabel("Token").fill(token("ada", 4 - 30)); // the server's clock may be 30 s late
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(message(page)).toHaveText("You have been signed out. Please sign in again.");
    await signedOut(page);
    await expect(page.getByText("No connection to the server.")).toHaveCount(0);
  });

  test("a post waits until the server has said who is signed in", async ({ page }) => {
    const held = gate();
    for (const query of ["Start", "Groups"]) {
      await onOperation(page, query, async (route) => {
        await held.opened;
        await route.continue();
      });
    }
    const write = async () => {
      await page.goto("/submit");
      await page.getByLabel("Title").fill("Early");
      await page.getByLabel("Text").fill("Words.");
      await page.getByRole("button", { name: "Post" }).click();
    };
    await page.goto("/healthz");
    await storeToken(page, token("ada"));
    await write();
    await expect(page.getByRole("button", { name: "Posting" })).toBeVisible();
    await expect(page).toHaveURL("/submit");
    held.open();
    await expect(page).toHaveURL("/a/1");

    await page.evaluate(() => localStorage.removeItem("frontpage.token"));
    await write(); // the page says that the visitor is not
    await expect(page).toHaveURL("/signin?to=%2Fsubmit");
  });

  test("a post fails, and the page says so, if the server does not say who is signed in", async ({
    page,
    watch,
  }) => {
    watch.allowed.push(/ERR_FAILED/);
    await page.goto("/healthz");
    await storeToken(page, token("ada"));
    for (const query of ["Start", "Groups"]) await onOperation(page, query, (route) => route.abort());
    await page.goto("/submit");
    await page.getByLabel("Title").fill("Early");
    await page.getByLabel("Text").fill("Words.");
    await page.getByRole("button", { name: "Post" }).click();
    await expect(message(page)).toHaveText(
      "The server cannot be reached. Your post is saved in this window. Try again.",
    );
    await expect(page).toHaveURL("/submit");
  });

  test("a moderator can edit and delete the article of another user, who cannot do that to others", async ({
    page,
  }) => {
    const remove = action(page, "Delete");
    await page.goto("/healthz");
    await storeToken(page, token("ada"));
    await page.goto("/submit");
    await page.getByLabel("Title").fill("Spam");
    await page.getByLabel("Text").fill("Words.");
    await page.getByRole("button", { name: "Post" }).click();
    await expect(remove).toHaveCount(1);
    await storeToken(page, token("ben"));
    await page.reload();
    await signedIn(page, "ben");
    await expect(page.getByRole("article")).toBeVisible();
    await expect(remove).toHaveCount(0);
    await expect(action(page, "Edit")).toHaveCount(0);
    await storeToken(page, token("mod", 600, ["moderator"]));
    await page.reload();
    await choose(page, "Edit");
    await page.getByLabel("Title").fill("Probably spam");
    await page.getByRole("button", { name: "Save changes" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Probably spam");
    await choose(page, "Delete");
    await page.getByLabel("Reason").fill("It is spam");
    await page.getByRole("button", { name: "Delete the article" }).click();
    await expect(message(page)).toHaveText("The article has been deleted.Undo");
    await expect(page).toHaveURL("/");
  });

  test("the first page shows who is signed in and what the site allows, by one request", async ({ page }) => {
    const operations: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") operations.push(request.postDataJSON().operationName);
    });
    await page.goto("/healthz");
    await storeToken(page, token("ada"));
    await page.goto("/");
    await signedIn(page, "ada");
    await expect(page.getByText("Each net vote counts as 7.2 minutes.")).toBeVisible();
    expect(operations).toEqual(["Articles"]);
  });

  test.describe("with a rate limit", () => {
    test.use({ settings: { FRONTPAGE_JWT_SECRET: secret, FRONTPAGE_RATES: "votes=2/1m" } });

    test("a vote over the limit is undone, and the page says why", async ({ page }) => {
      await page.goto("/healthz");
      await storeToken(page, token("ada"));
      await page.goto("/submit");
      await signedIn(page, "ada");
      await page.getByLabel("Title").fill("Often");
      await page.getByLabel("Text").fill("Words.");
      await page.getByRole("button", { name: "Post" }).click();
      const article = page.getByRole("article");
      for (const count of ["0", "1"]) {
        await up(article).click();
        await expect(votes(article)).toHaveText(count);
      }
      await expect(up(article)).toHaveAttribute("aria-pressed", "true");
      await up(article).click();
      await expect(message(page)).toContainText("Your vote was not counted.");
      await expect(votes(article)).toHaveText("1");
      await expect(up(article)).toHaveAttribute("aria-pressed", "true");
    });
  });
});

test.describe("with an external sign-in page", () => {
  const external = test.extend<{ login: { url: string; returns: string[] } }>({
    // An application that signs visitors in, and redirects back with a token.
    // biome-ignore lint/correctness/noEmptyPattern: Playwright requires the pattern, and the fixture has no dependencies
    login: async ({}, use) => {
      const returns: string[] = [];
      const server = createServer((request, response) => {
        const back = new URL(request.url ?? "", "http://here").searchParams.get("back") ?? "";
        returns.push(back);
        response.writeHead(302, { Location: `${back}#token=${token("ada")}` }).end();
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      await use({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, returns });
      server.close();
    },
    settings: ({ login }, use) =>
      use({ FRONTPAGE_JWT_SECRET: secret, FRONTPAGE_SIGN_IN_URL: `${login.url}/login?back={return}` }),
  });
  external.use({ viewer: "" });

  external("signs in there and returns", async ({ page, server, watch, login }) => {
    watch.origins.push(login.url);
    await page.goto("/g/sea/new");
    await page.getByRole("link", { name: "Sign in" }).click();
    await signedIn(page, "ada");
    await expect(page).toHaveURL("/g/sea/new");
    expect(login.returns).toHaveLength(1);
    expect(login.returns[0]).toMatch(
      new RegExp(`^${server.url}/signin\\?to=%2Fg%2Fsea%2Fnew&state=\\d{20,}$`),
    );

    await page.goto("/signin?to=/groups");
    await page.getByRole("link", { name: "Continue to sign-in" }).click();
    await expect(page).toHaveURL("/groups");
    await signedIn(page, "ada");
  });

  external("a link cannot sign a visitor in", async ({ page, watch, login }) => {
    watch.origins.push(login.url);
    for (const path of ["/signin?to=/&state=1", "/signin?to=/", "/signin"]) {
      await page.goto("about:blank");
      await page.goto(`${path}#token=${token("mallory")}`);
      await expect(message(page)).toHaveText("Sign-in failed. Please try again.");
      await signedOut(page);
      expect(await page.evaluate(() => localStorage.getItem("frontpage.token"))).toBeNull();
    }
    // A return URL works only once.
    await page.goto("/");
    await page.getByRole("link", { name: "Sign in" }).click();
    await signedIn(page, "ada");
    await page.evaluate(() => localStorage.removeItem("frontpage.token"));
    await page.goto(`${login.returns[0]}#token=${token("mallory")}`);
    await expect(message(page)).toHaveText("Sign-in failed. Please try again.");
    await signedOut(page);
  });
});
