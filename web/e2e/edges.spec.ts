import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "./fixtures";
import { gate, manyArticles, message, onOperation, rows, shown, votes } from "./helpers";

test.describe("a long list", () => {
  test.use({ csv: manyArticles(600) });

  test("is up to date where the reader comes back to after a while", async ({ page, server }) => {
    const [first] = await server.articles();
    if (!first) throw new Error("there are no articles");
    await page.goto("/");
    for (let parts = 1; parts < 4; parts++) {
      await expect(rows(page)).toHaveCount(parts * 25);
      await rows(page).last().scrollIntoViewIfNeeded();
    }
    await expect(rows(page)).toHaveCount(100);
    await rows(page).last().scrollIntoViewIfNeeded();
    for (const name of ["dan", "eve", "fay"]) await server.vote(first, "UP", name);
    await shown(page, first).scrollIntoViewIfNeeded();
    await expect(votes(shown(page, first))).toHaveText(`${first.votes + 3}`);
  });

  test("begins where the reader was when it is loaded anew, however long it was", async ({ page }) => {
    await page.goto("/");
    for (let parts = 1; parts < 22; parts++) {
      await expect.poll(() => rows(page).count()).toBeGreaterThanOrEqual(parts * 25);
      await rows(page).last().scrollIntoViewIfNeeded();
    }
    const current = () =>
      page.evaluate(() => {
        const parts = [...document.querySelectorAll<HTMLElement>("[data-after]")];
        const part = parts.findLast((part) => part.getBoundingClientRect().top < innerHeight / 3);
        return { after: part?.dataset.after, first: part?.querySelector("li")?.dataset.id };
      });
    const told = () => new URL(page.url()).searchParams.get("after");
    await expect.poll(async () => (await current()).after === told()).toBe(true);
    const [address, { first }] = [page.url(), await current()];
    await page.reload();
    await expect(rows(page).first()).toHaveAttribute("data-id", first ?? "");
    await expect(page).toHaveURL(address);
  });
});

test("a lost answer and a page that is loaded anew do not post twice", async ({ page, server, watch }) => {
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
  await expect(message(page)).toContainText("send it again");
  await page.unrouteAll({ behavior: "wait" });
  await page.reload();
  await post.click();
  await expect(page).toHaveURL("/a/1");
  expect(await server.articles()).toHaveLength(1);
});

test("a reply that comes late does not take the reader back", async ({ page, server }) => {
  await page.goto("/submit");
  await page.getByLabel("Title").fill("Slow");
  await page.getByLabel("Text").fill("but sure");
  const answer = gate();
  await onOperation(page, "Post", async (route) => {
    await answer.opened;
    await route.continue();
  });
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await page.getByRole("link", { name: "Groups" }).click();
  answer.open();
  await expect(message(page)).toContainText("has been posted");
  await expect(page).toHaveURL("/groups");
  expect(await server.articles()).toHaveLength(1);
});

test("a browser that keeps nothing shows the site, and lets one sign in", async ({ page, server }) => {
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
  await shown(page, article).getByRole("button", { name: "Vote up" }).click();
  await expect(votes(shown(page, article))).toHaveText("2");
});

test("links to what else is at this address are followed", async ({ page, server }) => {
  const { number } = await server.post({ title: "One", text: `See ${server.url}/healthz for more.` });
  await page.goto(`/a/${number}`);
  await page.getByRole("link", { name: "/healthz" }).click();
  await expect(page.getByText("ok", { exact: true })).toBeVisible();
});

test("a title cannot turn the text around it", async ({ page, server }) => {
  const article = await server.post({ title: "Good \u202Etxet", link: "https://moc.elgoog.example/" });
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

test("a list that could not be read comes by itself when it can be", async ({ page, server, watch }) => {
  watch.allowed.push(/503/);
  await server.post({ title: "One" });
  let away = true;
  await onOperation(page, "Articles", (route) =>
    away
      ? route.fulfill({
          json: { data: null, errors: [{ message: "gone", extensions: { code: "UNAVAILABLE" } }] },
        })
      : route.continue(),
  );
  await page.goto("/");
  await expect(page.getByText("cannot reach its articles")).toBeVisible();
  away = false;
  await expect(rows(page)).toHaveCount(1);
});

test.describe("a token whose key the server does not have yet", () => {
  const [known, unknown] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
  test.use({
    viewer: "",
    settings: async ({ viewer: _ }, use) => {
      const folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
      const keys = join(folder, "keys.json");
      const key = { ...known.publicKey.export({ format: "jwk" }), kid: "one", alg: "EdDSA", use: "sig" };
      writeFileSync(keys, JSON.stringify({ keys: [key] }));
      await use({ JWKS_FILE: keys, JWT_ISSUER: "here", JWT_AUDIENCE: "site" });
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
    await expect(page.getByText("cannot tell yet who you are")).toBeVisible();
    expect(await page.evaluate(() => localStorage.getItem("frontpage.token"))).toBe(token);
  });
});

test.describe("a server that runs no documents but those it is told of", () => {
  test.use({ settings: { TRUSTED_DOCUMENTS: join(import.meta.dirname, "../dist/site/documents.json") } });

  test("runs those of the site", async ({ page }) => {
    await page.goto("/submit");
    await page.getByLabel("Title").fill("Trusted");
    await page.getByLabel("Text").fill("as it is");
    await page.getByRole("button", { name: "Post", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Trusted" })).toBeVisible();
    await page.getByRole("button", { name: "Vote up" }).click();
    await expect(page.locator(".count > [aria-hidden]")).toHaveText("0");
    await page.getByRole("link", { name: "Top" }).click();
    await expect(rows(page)).toHaveCount(1);
  });
});
