interface Request {
  subject: string;
  /** Size of the body in bytes. */
  size: number;
  sent: boolean;
}

const timeout = 10_000; // milliseconds
// Browsers complete requests of a page that has gone up to 64 KiB in all, and Chromium fewer than ten.
const maxKept = { requests: 8, size: 60_000 };

/** Requests without a response, in order. */
const requests = new Set<Request>();
let last: Promise<unknown> = Promise.resolve();
let leaving = false;
let release = () => {};
let released = untilReleased();

/**
 * Returns a fetch that sends one request at a time. If two were in flight, the second could arrive first,
 * and a withdrawn vote would remain. The browser completes a request even if the user leaves the page. Those
 * that wait at that time are sent at once, except those that a later one about the same subject replaces.
 * If that could lose one or change their order, the browser asks the user before.
 */
export function inOrder(subject: string): typeof fetch {
  return (input, init) => {
    const size = new TextEncoder().encode(`${init?.body ?? ""}`).length;
    const request = { subject, size, sent: false };
    requests.add(request);
    const send = () => {
      if (leaving && isReplaced(request)) throw new DOMException("replaced", "AbortError");
      request.sent = true;
      const signals = [AbortSignal.timeout(timeout), ...(init?.signal ? [init.signal] : [])];
      const keepalive = canKeep([...requests].filter(({ sent }) => sent));
      return fetch(input, { ...init, keepalive, signal: AbortSignal.any(signals) });
    };
    const response = Promise.race([last, released])
      .then(send)
      .finally(() => requests.delete(request));
    last = response.catch(() => {});
    return response;
  };
}

/** Reports whether the user is leaving the page. */
export const isLeaving = () => leaving;

const isReplaced = (request: Request) =>
  [...requests].findLast(({ subject }) => subject === request.subject) !== request;

const canKeep = (kept: Request[]) =>
  kept.length <= maxKept.requests && kept.reduce((sum, { size }) => sum + size, 0) <= maxKept.size;

function untilReleased(): Promise<void> {
  return new Promise((resolve) => {
    release = resolve;
  });
}

addEventListener("beforeunload", (event) => {
  const unordered = [...requests].some((request) => request.sent && isReplaced(request));
  if (unordered || !canKeep([...requests])) event.preventDefault();
});
addEventListener("pagehide", () => {
  leaving = true;
  release();
});
addEventListener("pageshow", () => {
  // The page has returned from the back/forward cache.
  if (leaving) released = untilReleased();
  leaving = false;
});
