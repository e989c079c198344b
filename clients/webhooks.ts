// A receiver of webhooks, which verifies events by the library of Standard Webhooks.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";
import { main, url } from "./endpoint";
import { pause, post, vote } from "./live";

const port = Number(process.env["WEBHOOK_PORT"]);
const document = `mutation Add($input: AddWebhookInput!) {
  addWebhook(input: $input) { webhook { id url kinds paused } secret userErrors { code message field } }
}`;

/** Adds this receiver as a moderator, and returns the secret. */
async function add(): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": "mod", "X-User-Roles": "moderator" },
    body: JSON.stringify({ query: document, variables: { input: { url: `http://127.0.0.1:${port}/events`, kinds: ["POSTED", "VOTED"] } } }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  assert.deepEqual(data.addWebhook.userErrors, []);
  return data.addWebhook.secret;
}

main(async () => {
  let secret = "";
  let failures = 0;
  const events: { type: string; data: { article: string } }[] = [];
  createServer((req, res) => {
    let body = "";
    req.on("data", (part) => (body += part));
    req.on("end", () => {
      const verified = new Webhook(secret).verify(body, req.headers as Record<string, string>) as (typeof events)[number];
      assert.throws(() => new Webhook(secret).verify(`${body} `, req.headers as Record<string, string>));
      if (verified.type === "article.voted" && failures++ === 0) {
        res.writeHead(503).end();
        return;
      }
      events.push(verified);
      res.writeHead(204).end();
    });
  }).listen(port, "127.0.0.1");
  secret = await add();
  const { id } = await post("webhooks", "an article for a receiver of webhooks", []);
  await vote("webhooks-1", id);
  const own = () => events.filter(({ data }) => data.article === id).map(({ type }) => type);
  for (const end = Date.now() + 30_000; own().length < 2 && Date.now() < end; ) await pause(50);
  assert.deepEqual(own(), ["article.posted", "article.voted"]);
  assert.equal(failures, 2, "the event that failed is sent again");
});
