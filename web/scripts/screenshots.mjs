// Takes the pictures in docs/: every page, light and dark, wide and narrow.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "@playwright/test";

const root = join(import.meta.dirname, "../..");
const sizes = { wide: { width: 1180, height: 780 }, narrow: { width: 390, height: 780 } };
const taken = "https://go.dev/blog/gopher";

const pages = {
  async front(page) {
    await page.goto("/");
    await page
      .getByRole("button", { name: /^Why here/ })
      .nth(1)
      .click();
  },
  async group(page) {
    await page.goto("/g/science");
  },
  async article(page) {
    await page.goto("/");
    await page.getByRole("link", { name: "Welcome: how ranking works here" }).click();
  },
  async submit(page) {
    await page.goto("/submit");
    await page.getByLabel("Title").fill("Where the gopher comes from");
    await page.getByLabel("Link").fill(taken);
    await page.getByLabel("Groups").fill("go design ");
    await page.getByRole("button", { name: "Post", exact: true }).click();
    await page.getByText("posted already").waitFor();
  },
  async graphiql(page) {
    await page.goto("/graphiql");
    await page.waitForLoadState("networkidle"); // then the editors are there, and the schema
    await page.getByRole("button", { name: /^Execute query/ }).click();
    await page.locator(".result-window").getByText("articles").first().waitFor();
  },
};

const folder = await mkdtemp(join(tmpdir(), "frontpage-"));
const program = join(folder, "frontpage");
await finished(spawn("go", ["build", "-o", program, "."], { cwd: root, stdio: "inherit" }));
const server = spawn(program, ["--demo"], {
  env: { ...process.env, REDIS_URL: "memory://", ADDR: "127.0.0.1:0" },
});
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
try {
  const baseURL = await address(server);
  // The articles of the demo reserve no links; one that was posted does.
  const input = { title: "The Go gopher, drawn step by step", link: taken, groups: ["design"] };
  await fetch(`${baseURL}/query`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": "mina" },
    body: JSON.stringify({
      query: "mutation ($input: PostInput!) { post(input: $input) { article { id } } }",
      variables: { input },
    }),
  });
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ baseURL, viewport, colorScheme, reducedMotion: "reduce" });
      await context.addInitScript(() => localStorage.setItem("frontpage.name", "alice"));
      for (const [name, open] of Object.entries(pages)) {
        const page = await context.newPage();
        await open(page);
        await page.waitForLoadState("networkidle");
        await page.screenshot({ path: join(root, "docs", `${name}-${colorScheme}-${size}.png`) });
        await page.close();
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  server.kill();
  await rm(folder, { recursive: true });
}

async function address(server) {
  for await (const line of createInterface(server.stderr)) {
    const found = / site=(\S+)\//.exec(line);
    if (found) return found[1];
  }
  throw new Error("the server does not serve");
}

function finished(process) {
  return new Promise((resolve, reject) => {
    process.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`exit code ${code}`))));
  });
}
