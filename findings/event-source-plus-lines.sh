#!/bin/bash
# event-source-plus 0.1.15 (npm), Node 20, 2026-11-29.
# Guess: the lines of an event's data are joined by line feeds, as in browsers (HTML, 9.2.6).
# Seen: the last line is the data, and those before it are lost without an error. So are blanks before it.
#   ["10}","last"] of {"votes":\n10} and first\n  last
# A server that such clients shall read sends JSON in one line; other servers split a text at each line feed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit event-source-plus@0.1.15
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { EventSourcePlus } from "event-source-plus";
const server = createServer((_, res) => {
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  res.write('data: {"votes":\ndata: 10}\n\ndata: first\ndata:   last\n\n');
}).listen(0, "127.0.0.1", () => {
  const seen = [];
  new EventSourcePlus(`http://127.0.0.1:${server.address().port}/`).listen({
    onMessage({ data }) {
      if (seen.push(data) < 2) return;
      console.log(JSON.stringify(seen));
      process.exit();
    },
  });
});
END
[ "$(timeout 30 node run.mjs)" = '["10}","last"]' ]
