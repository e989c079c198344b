import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "@playwright/test";
import { test as base, expect } from "./fixtures";
import { Server } from "./server";

/** An OIDC provider: ../../../tests/oidc. */
class Provider {
  url = "";
  private readonly process = spawn(process.env.FRONTPAGE_OIDC ?? "", { stdio: ["pipe", "pipe", "inherit"] });

  async start(): Promise<void> {
    [this.url] = (await once(createInterface({ input: this.process.stdout }), "line")) as [string];
  }

  async control(what: string, value = ""): Promise<string> {
    const response = await fetch(`${this.url}/control/${what}`, {
      method: "POST",
      body: new URLSearchParams({ value }),
    });
    return response.text();
  }

  stop(): void {
    this.process.stdin.end();
  }
}

interface Fixtures {
  provider: Provider;
  /** URL of a Redis that several processes can use. */
  store: string;
  /** Another process of the same site. */
  second: Server;
}

/** Tests of a site whose users sign in at an OIDC provider. */
export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright requires the pattern, and the fixture has no dependencies
  provider: async ({}, use) => {
    const provider = new Provider();
    await provider.start();
    await use(provider);
    provider.stop();
  },
  // biome-ignore lint/correctness/noEmptyPattern: as above
  store: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "frontpage-redis-"));
    const socket = join(folder, "socket");
    const redis = spawn("redis-server", [
      "--port",
      "0",
      "--unixsocket",
      socket,
      "--save",
      "",
      "--dir",
      folder,
    ]);
    await ready(redis);
    await use(`unix://${socket}`);
    redis.kill();
    await once(redis, "exit");
    rmSync(folder, { recursive: true });
  },
  settings: async ({ provider, store }, use) => {
    const address = `127.0.0.1:${await freePort()}`;
    await use({
      REDIS_URL: store,
      FRONTPAGE_ADDR: address,
      FRONTPAGE_PUBLIC_URL: `http://${address}`,
      FRONTPAGE_OIDC_ISSUER: provider.url,
      FRONTPAGE_OIDC_CLIENT_ID: "frontpage",
      FRONTPAGE_OIDC_CLIENT_SECRET: "the secret of the site",
      FRONTPAGE_OIDC_SCOPES: "openid profile offline_access",
    });
  },
  second: async ({ server, settings, watch }, use) => {
    const second = new Server({ ...settings, FRONTPAGE_ADDR: `127.0.0.1:${await freePort()}` }, false);
    await second.start();
    watch.origins.push(second.url);
    await use(second);
    await second.remove();
    expect(second.url).not.toBe(server.url);
  },
});
async function ready(redis: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: redis.stdout as NodeJS.ReadableStream }))
    if (line.includes("ready to accept connections")) return;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Fills in the provider's form. */
export async function signInAs(page: Page, name: string): Promise<void> {
  await page.locator("[name=username]").fill(name);
  await page.locator("[name=password]").fill("secret");
  await page.locator("[type=submit]").click();
}
