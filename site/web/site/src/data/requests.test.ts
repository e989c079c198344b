import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inOrder } from "./requests";

/** A request that waits for its response. */
interface Pending {
  body: unknown;
  keepalive?: boolean;
  respond(status?: number): void;
  fail(): void;
}

let requests: Pending[] = [];

beforeEach(() => {
  requests = [];
  const fetch = (_: string, { body, keepalive, signal }: RequestInit = {}) =>
    new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      requests.push({
        body,
        keepalive,
        respond: (status = 200) => resolve(new Response("{}", { status })),
        fail: () => reject(new TypeError("Failed to fetch")),
      });
    });
  vi.stubGlobal("fetch", fetch);
});
afterEach(() => {
  for (const request of requests) request.fail(); // or the requests queued after it would run in the next test
  dispatchEvent(new Event("pageshow"));
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const post = (subject: string, body = "{}") => inOrder(subject)("/query", { method: "POST", body });
const sent = (count: number) => vi.waitFor(() => expect(requests).toHaveLength(count));
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Reports whether the page asks before it is left. */
const asks = () => !dispatchEvent(new Event("beforeunload", { cancelable: true }));

test.each([
  ["has a response", (request?: Pending) => request?.respond()],
  ["has an error response", (request?: Pending) => request?.respond(500)],
  ["has failed", (request?: Pending) => request?.fail()],
])("a mutation waits until the previous one %s", async (_, end) => {
  const first = post("a").catch(() => {});
  const second = post("a");
  await sent(1);
  await pause();
  expect(requests).toHaveLength(1);
  end(requests[0]);
  await sent(2);
  requests[1]?.respond();
  expect((await second).ok).toBe(true);
  await first;
});

test("a mutation without a response blocks the next one only until it times out", async () => {
  const slow = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(slow.signal);
  const first = post("a");
  const second = post("a");
  await sent(1);
  slow.abort(new DOMException("too slow", "TimeoutError"));
  await expect(first).rejects.toThrow("too slow");
  await sent(2);
  requests[1]?.respond();
  await second;
});

test("requests survive leaving the page, up to the size that browsers accept", async () => {
  const small = post("a", "x".repeat(1000));
  await sent(1);
  expect(requests[0]?.keepalive).toBe(true);
  expect(asks()).toBe(false);
  requests[0]?.respond();
  await small;
  const large = post("a", "ö".repeat(40_000));
  await sent(2);
  expect(requests[1]?.keepalive).toBe(false);
  expect(asks()).toBe(true);
  requests[1]?.respond();
  await large;
  expect(asks()).toBe(false);
});

test("leaving the page sends the waiting requests, without those that a later one replaces", async () => {
  const first = post("a", "1");
  const replaced = post("b", "2");
  const others = [post("b", "3"), post("c", "4")];
  await sent(1);
  expect(asks()).toBe(false);
  dispatchEvent(new Event("pagehide"));
  await expect(replaced).rejects.toThrow("replaced");
  await sent(3);
  expect(requests.map(({ body }) => body)).toEqual(["1", "3", "4"]);
  for (const request of requests) {
    expect(request.keepalive).toBe(true);
    request.respond();
  }
  await Promise.all([first, ...others]);
});

test("a page that returns from the back/forward cache sends one request at a time again", async () => {
  dispatchEvent(new Event("pagehide"));
  dispatchEvent(new Event("pageshow"));
  const both = [post("a"), post("b")];
  await sent(1);
  await pause();
  expect(requests).toHaveLength(1);
  requests[0]?.respond();
  await sent(2);
  requests[1]?.respond();
  await Promise.all(both);
});

test("the page asks before it is left with more requests than survive", async () => {
  const all = ["1", "2", "3", "4", "5", "6", "7", "8"].map((subject) => post(subject));
  expect(asks()).toBe(false);
  all.push(post("9"));
  expect(asks()).toBe(true);
  dispatchEvent(new Event("pagehide"));
  await sent(9);
  expect(requests.map(({ keepalive }) => keepalive)).toEqual([...Array(8).fill(true), false]);
  for (const request of requests) request.respond();
  await Promise.all(all);
});

test("the page asks before it is left with a request that could overtake another", async () => {
  const both = [post("a"), post("a")];
  await sent(1);
  expect(asks()).toBe(true);
  requests[0]?.respond();
  await sent(2);
  expect(asks()).toBe(false);
  requests[1]?.respond();
  await Promise.all(both);
});
