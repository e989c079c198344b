import { inspect } from "node:util";
import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { Server } from "./server";

export { expect };

/** What happened in the windows of a test, and what of it would be a fault. */
export class Watch {
  /** Console errors that a test brings about, such as those of a server that is gone. */
  readonly allowed: RegExp[] = [];
  /** Origins that a test goes to beside the server's. */
  readonly origins: string[] = [];
  readonly faults: string[] = [];
  private readonly server: Server;
  private readonly sent = new WeakMap<Page, string[]>();

  constructor(server: Server) {
    this.server = server;
  }

  async follow(context: BrowserContext): Promise<void> {
    const own = (url: URL) =>
      !/^(http|ws)s?:$/.test(url.protocol) ||
      [this.server.url, ...this.origins].includes(url.origin.replace(/^ws/, "http"));
    await context.route(
      (url) => !own(url),
      (route) => {
        this.faults.push(`a request to elsewhere: ${route.request().url()}`);
        return route.abort();
      },
    );
    await context.addInitScript(() =>
      addEventListener("securitypolicyviolation", (event) =>
        console.error(
          `against the policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`,
        ),
      ),
    );
    context.on("weberror", (error) => this.faults.push(`an uncaught error: ${inspect(error.error())}`));
    context.on("console", (message) => {
      const text = `${message.text()} (${message.location().url})`;
      if (message.type() === "error" && !this.allowed.some((allowed) => allowed.test(text)))
        this.faults.push(`an error in the console: ${text}`);
    });
    context.on("page", (page) => {
      const sent: string[] = [];
      this.sent.set(page, sent);
      page.on("websocket", (socket) => {
        if (!own(new URL(socket.url()))) this.faults.push(`a socket to elsewhere: ${socket.url()}`);
        socket.on("framesent", ({ payload }) => sent.push(String(payload)));
      });
    });
  }

  /** Waits until a page has asked for live updates, say `articlePosted`, this often. */
  async live(page: Page, of: "articleChanged" | "articlePosted", times = 1): Promise<void> {
    const asked = () => this.sent.get(page)?.filter((frame) => frame.includes(`${of}(`)).length ?? 0;
    await expect.poll(asked, `the page asks for ${of}`).toBeGreaterThanOrEqual(times);
  }
}

interface Options {
  /** The environment of the server, beside the store and the address. */
  settings: Record<string, string>;
  /** Whether it is filled by --demo. */
  demo: boolean;
  /** Articles that it begins with, as CSV. */
  csv: string;
  /** Who is signed in, by name; nobody when it is empty. */
  viewer: string;
}

interface Fixtures {
  server: Server;
  watch: Watch;
  /** Opens a window of somebody else, who shares nothing with the first. */
  another(viewer: string): Promise<Page>;
}

export const test = base.extend<Options & Fixtures>({
  settings: [{}, { option: true }],
  demo: [false, { option: true }],
  csv: ["", { option: true }],
  viewer: ["ada", { option: true }],

  server: async ({ settings, demo, csv }, use, info) => {
    const server = new Server(settings, demo);
    try {
      if (csv) server.import(csv);
      await server.start();
      await use(server);
    } finally {
      await server.remove();
      if (info.status !== info.expectedStatus) await info.attach("server.log", { body: server.log });
    }
  },
  baseURL: ({ server }, use) => use(server.url),
  storageState: ({ server, viewer }, use) => use(signedIn(server, viewer)),

  watch: [
    async ({ context, server }, use) => {
      const watch = new Watch(server);
      await watch.follow(context);
      await use(watch);
      expect(watch.faults, "nothing happens that should not").toEqual([]);
    },
    { auto: true },
  ],
  // The windows must be watched from their beginning.
  page: ({ watch: _, context }, use) => context.newPage().then(use),

  another: async ({ browser, server, watch }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (viewer) => {
      const context = await browser.newContext({
        baseURL: server.url,
        storageState: signedIn(server, viewer),
      });
      contexts.push(context);
      await watch.follow(context);
      return context.newPage();
    });
    for (const context of contexts) await context.close();
  },
});

function signedIn(server: Server, viewer: string) {
  const localStorage = viewer ? [{ name: "frontpage.name", value: viewer }] : [];
  return { cookies: [], origins: [{ origin: server.url, localStorage }] };
}
