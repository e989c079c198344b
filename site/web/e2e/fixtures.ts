import { inspect } from "node:util";
import { type BrowserContext, test as base, expect, type Page, type Response } from "@playwright/test";
import { Server } from "./server";

export { expect };

/** Records faults in the windows of a test: errors in the console, requests to other origins. */
export class Watch {
  /** Console errors that a test expects, such as those of a stopped server. */
  readonly allowed: RegExp[] = [
    /status of (404|410) .*\/[agu]\/[^/]*(\/new)?\)$/, // pages of what is not there
    /ERR_SOCKET_NOT_CONNECTED/, // a busy browser was late to use a connection that it had opened ahead; the page tries again
  ];
  /** Origins that a test may request in addition to the server's. */
  readonly origins: string[] = [];
  readonly faults: string[] = [];
  private readonly origin: string;
  private readonly sent = new WeakMap<Page, string[]>();

  constructor(origin: string) {
    this.origin = origin;
  }

  async follow(context: BrowserContext): Promise<void> {
    const own = (url: URL) =>
      !/^(http|ws)s?:$/.test(url.protocol) ||
      [this.origin, ...this.origins].includes(url.origin.replace(/^ws/, "http"));
    await context.route(
      (url) => !own(url),
      (route) => {
        this.faults.push(`request to another origin: ${route.request().url()}`);
        return route.abort();
      },
    );
    await context.addInitScript(() =>
      addEventListener("securitypolicyviolation", (event) =>
        console.error(
          `policy violation: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`,
        ),
      ),
    );
    context.on("weberror", (error) => this.faults.push(`uncaught error: ${inspect(error.error())}`));
    context.on("console", (message) => {
      const text = `${message.text()} (${message.location().url})`;
      if (message.type() === "error" && !this.allowed.some((allowed) => allowed.test(text)))
        this.faults.push(`console error: ${text}`);
    });
    context.on("page", (page) => {
      const sent: string[] = [];
      this.sent.set(page, sent);
      page.on("websocket", (socket) => {
        if (!own(new URL(socket.url()))) this.faults.push(`socket to another origin: ${socket.url()}`);
        socket.on("framesent", ({ payload }) => sent.push(String(payload)));
      });
    });
  }

  /** Waits until a page has sent a number of subscriptions. */
  async live(page: Page, of: "articleChanged" | "articlePosted", times = 1): Promise<void> {
    const sent = () => this.sent.get(page)?.filter((frame) => frame.includes(`${of}(`)).length ?? 0;
    await expect.poll(sent, `the page subscribes to ${of}`).toBeGreaterThanOrEqual(times);
  }
}

/** Console errors of a page whose server stops, is away, and answers 503 until it has loaded its store. */
export const outage = /ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_INTERNET_DISCONNECTED|503/;

interface Options {
  /** Environment of the server, in addition to store and address. */
  settings: Record<string, string>;
  /** Whether the server is started with --demo-articles. */
  demo: boolean;
  /** Initial articles, as CSV. */
  csv: string;
  /** Name of the signed-in user; empty for an anonymous visitor. */
  viewer: string;
}

interface Fixtures {
  server: Server;
  /** Origin of the pages: the server's, unless a test loads them through a relay. */
  origin: string;
  watch: Watch;
  /** Opens a window of another user, with separate storage. */
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
  origin: ({ server }, use) => use(server.url),
  baseURL: ({ origin }, use) => use(origin),
  storageState: ({ origin, viewer }, use) => use(signedIn(origin, viewer)),

  watch: [
    async ({ context, origin }, use) => {
      const watch = new Watch(origin);
      await watch.follow(context);
      await use(watch);
      expect(watch.faults, "no faults in the windows").toEqual([]);
    },
    { auto: true },
  ],
  // Depends on watch, which must be set up before a window opens.
  page: ({ watch: _, context }, use) => context.newPage().then(patient).then(use),

  another: async ({ browser, origin, watch }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (viewer) => {
      const context = await browser.newContext({
        baseURL: origin,
        storageState: signedIn(origin, viewer),
      });
      contexts.push(context);
      await watch.follow(context);
      return patient(await context.newPage());
    });
    for (const context of contexts) await context.close();
  },
});

/**
 * Has a window wait after loading a page until the script has taken it over: until then, the server's rows do not
 * answer to clicks and keys. Pages that the script does not take over are not waited for any longer than a moment.
 */
function patient(page: Page): Page {
  for (const name of ["goto", "reload"] as const) {
    const load = page[name].bind(page) as (...args: unknown[]) => Promise<Response | null>;
    page[name] = (async (...args: unknown[]) => {
      const response = await load(...args);
      const taken = () =>
        "isUntaken" in window ||
        !document.getElementById("app") ||
        document.querySelector(".menu fieldset") !== null;
      await page.waitForFunction(taken, undefined, { timeout: 3_000 }).catch(() => {});
      return response;
    }) as never;
  }
  return page;
}

function signedIn(origin: string, viewer: string) {
  const localStorage = viewer ? [{ name: "frontpage.name", value: viewer }] : [];
  return { cookies: [], origins: [{ origin, localStorage }] };
}
