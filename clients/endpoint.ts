// The server under test, and the main function of each client.
import assert from "node:assert/strict";

/** The URL of the GraphQL endpoint. */
export const url = process.env["FRONTPAGE_URL"] ?? "";
assert(url, "FRONTPAGE_URL is not set: start the clients with ./run.sh");

/** The same endpoint for WebSocket clients. */
export const socketURL = url.replace(/^http/, "ws");

/** Returns a value, which must not be missing. */
export function defined<Value>(value: Value | null | undefined): Value {
  assert(value !== null && value !== undefined);
  return value;
}

/** Runs a client and exits at once: idle keep-alive connections would delay the exit by seconds. */
export function main(client: () => Promise<void>): void {
  client().then(
    () => process.exit(),
    (err: unknown) => {
      console.error(err);
      process.exit(1);
    },
  );
}
