import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "./fixtures";
import { gate, manyArticles, message, onOperation, rows, shown, votes } from "./helpers";

test.describe("a long list", () => {
  test.use({ csv: manyArticles(600) });

  test("updates its first articles when they scroll back into view", async ({ page, server }) => {
    const [first] = await server.articles();
    if (!first) throw new Error("there are no articles");
    await page.goto("/");
    for (let parts = 1; parts < 4; parts++) {
      await expect(rows(page)).toHaveCount(parts * 25);
      await rows(page).last().scrollIntoViewIfNeeded();
    }
    await page.getByRole("link", { name: "More articles" }).click();
    await expect(rows(page)).toHaveCount(100);
    await rows(page).last().scrollIntoViewIfNeeded();
    for (const name of ["dan", "eve", "fay"]) await server.vote(first, "UP", name);
    await shown(page, first).scrollIntoViewIfNeeded();
    await expect(votes(shown(page, first))).toHaveText(`${first.votes + 3}`);
  });

  test("starts at the visible part after a reload, if it was too long to restore", async ({ page }) => {
    await page.goto("/");
    for (let parts = 1; parts < 22; parts++) {
      await expect.poll(() => rows(page).count()).toBeGreaterThanOrEqual(parts * 25);
      await rows(page).last().scrollIntoViewIfNeeded();
      if (parts % 3 === 0) await page.getByRole("link", { name: "More articles" }).click();
    }
    const current = () =>
      page.evaluate(() => {
        const parts = [...document.querySelectorAll<HTMLElement>("[data-after]")];
        const part = parts.findLast((part) => part.getBoundingClientRect().top < innerHeight / 3);
        return { after: part?.dataset.after, first: part?.querySelector("li")?.dataset.id };
      });
    const inURL = () => new URL(page.url()).searchParams.get("after");
    await expect.poll(async () => (await current()).after === inURL()).toBe(true);
    const [address, { first }] = [page.url(), await current()];
    await page.reload();
    await expect(rows(page).first()).toHaveAttribute("data-id", first ?? "");
    await expect(page).toHaveURL(address);
  });
});

test("a lost response and a reload do not post twice", async ({ page, server, watch }) => {
  watch.allowed.push(/ERR_FAILED/);
  await page.goto("/submit");
  await page.getByLabel("Title").fill("Once");
  await page.getByLabel("Text").fill("and for all");
  await onOperation(page, "Post", async (route) => {
    await route.fetch();
    await route.abort();
  });
  const post = page.getByRole("button", { name: "Post", exact: true });
  await post.click();
  await expect(message(page)).toContainText("Try again");
  await page.unrouteAll({ behavior: "wait" });
  await page.reload();
  await post.click();
  await expect(page).toHaveURL("/a/1");
  expect(await server.articles()).toHaveLength(1);
});

test("a late response does not navigate away from another page", async ({ page, server }) => {
  await page.goto("/submit");
  await page.getByLabel("Title").fill("Slow");
  await page.getByLabel("Text").fill("but sure");
  const response = gate();
  await onOperation(page, "Post", async (route) => {
    await response.opened;
    await route.continue();
  });
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await page.getByRole("link", { name: "Groups" }).click();
  response.open();
  await expect(message(page)).toContainText("has been posted");
  await expect(page).toHaveURL("/groups");
  expect(await server.articles()).toHaveLength(1);
});

test("the site and sign-in work without browser storage", async ({ page, server }) => {
  const article = await server.post({ title: "One" });
  await page.addInitScript(() => {
    for (const area of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, area, {
        get() {
          throw new DOMException("no", "SecurityError");
        },
      });
  });
  await page.goto("/");
  await shown(page, article).getByRole("button", { name: "Vote up" }).click();
  await page.getByLabel("Name").fill("zoe");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(votes(shown(page, article))).toHaveText("2"); // the vote that led to the sign-in is cast
});

test("links to other pages of the same origin are loaded", async ({ page, server }) => {
  const { number } = await server.post({ title: "One", text: `See ${server.url}/healthz for more.` });
  await page.goto(`/a/${number}`);
  await page.getByRole("link", { name: "/healthz" }).click();
  await expect(page.getByText("ok", { exact: true })).toBeVisible();
});

test.describe("an imported title, which may have what posts may not", () => {
  test.use({
    csv: "id,title,link,votes,poster,posted_at\n1,Good \u202Etxet,https://moc.elgoog.example/,1,ann,1700000000\n",
  });

  test("cannot change the direction of the text around it", async ({ page, server }) => {
    const [article] = await server.articles();
    if (!article) throw new Error("there are no articles");
    await page.goto("/");
    const host = shown(page, article).locator(".host");
    const left = (pattern: string) =>
      host.evaluate((element, pattern) => {
        const text = element.firstChild as Text;
        const range = document.createRange();
        const at = text.data.indexOf(pattern);
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
      }, pattern);
    expect(await left("m")).toBeLessThan(await left("x"));
  });
});

test("a list that failed to load is retried automatically", async ({ page, server, watch }) => {
  watch.allowed.push(/503/);
  await server.post({ title: "One" });
  let down = true;
  await onOperation(page, "Articles", (route) =>
    down
      ? route.fulfill({
          json: { data: null, errors: [{ message: "gone", extensions: { code: "UNAVAILABLE" } }] },
        })
      : route.continue(),
  );
  await page.goto("/");
  await expect(page.getByText("temporarily unavailable")).toBeVisible();
  down = false;
  await expect(rows(page)).toHaveCount(1);
});

test.describe("a token whose key the server has not loaded yet", () => {
  const [known, unknown] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
  test.use({
    viewer: "",
    settings: async ({ viewer: _ }, use) => {
      const folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
      const keys = join(folder, "keys.json");
      const key = { ...known.publicKey.export({ format: "jwk" }), kid: "one", alg: "EdDSA", use: "sig" };
      writeFileSync(keys, JSON.stringify({ keys: [key] }));
      await use({ FRONTPAGE_JWKS: keys, FRONTPAGE_JWT_ISSUER: "here", FRONTPAGE_JWT_AUDIENCE: "site" });
      rmSync(folder, { recursive: true });
    },
  });

  test("is kept", async ({ page, watch }) => {
    watch.allowed.push(/401/);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { sub: "ada", iss: "here", aud: "site", exp: Math.floor(Date.now() / 1000) + 600 };
    const text = `${part({ alg: "EdDSA", kid: "two" })}.${part(claims)}`;
    const token = `${text}.${sign(null, Buffer.from(text), unknown.privateKey).toString("base64url")}`;
    await page.addInitScript((token) => localStorage.setItem("frontpage.token", token), token);
    await page.goto("/");
    await expect(page.getByText("cannot verify your sign-in yet")).toBeVisible();
    expect(await page.evaluate(() => localStorage.getItem("frontpage.token"))).toBe(token);
  });
});

test.describe("a server that only runs trusted documents", () => {
  test.use({
    settings: { FRONTPAGE_TRUSTED_DOCUMENTS: join(import.meta.dirname, "../dist/site/documents.json") },
  });

  test("runs those of the site", async ({ page }) => {
    await page.goto("/submit");
    await page.getByLabel("Title").fill("Trusted");
    await page.getByLabel("Text").fill("as it is");
    await page.getByRole("button", { name: "Post", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Trusted" })).toBeVisible();
    await page.getByRole("button", { name: "Vote up" }).click();
    await expect(page.locator(".count")).toHaveText("0");
    await page.getByRole("link", { name: "Hot" }).click();
    await expect(rows(page)).toHaveCount(1);
  });
});
