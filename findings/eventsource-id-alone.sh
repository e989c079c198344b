#!/bin/bash
# eventsource 4.1.1 and eventsource-client 1.2.0 (npm), Node 20, 2026-11-29.
# Guess: a block with an id alone sets the last event ID, without an event, as in browsers (HTML, 9.2.6). So a server can
# begin a stream with the place to go on from, and a client that is cut off before the first event misses none.
# Seen: both drop the block, and connect again without Last-Event-ID: what was sent meanwhile is missing. Each sends the
# id of a block with data.
#   alone: null null null, with data: null 5 5
# eventsource 5.1.5, which is for Node 22, sends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit eventsource@4.1.1 eventsource-client@1.2.0
cat >run.mjs <<'END'
import { once } from "node:events";
import { createServer } from "node:http";
import { EventSource } from "eventsource";
import { createEventSource } from "eventsource-client";

async function ids(open, block) {
  const seen = [];
  const server = createServer((req, res) => {
    seen.push(String(req.headers["last-event-id"] ?? null));
    res.writeHead(200, { "Content-Type": "text/event-stream" }).end(`retry: 50\n\n${block}`);
    if (seen.length === 3) server.emit("enough");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const source = open(`http://127.0.0.1:${server.address().port}/`);
  await once(server, "enough");
  source.close();
  server.close();
  return seen.join(" ");
}

const clients = { eventsource: (url) => new EventSource(url), "eventsource-client": (url) => createEventSource({ url }) };
for (const [name, open] of Object.entries(clients))
  console.log(`${name} alone: ${await ids(open, "id: 5\n\n")}, with data: ${await ids(open, "id: 5\ndata: a\n\n")}`);
process.exit();
END
[ "$(timeout 30 node run.mjs)" = "eventsource alone: null null null, with data: null 5 5
eventsource-client alone: null null null, with data: null 5 5" ]
