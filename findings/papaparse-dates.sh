#!/bin/bash
# papaparse 5.7.1 (npm), Node 20, 2026-11-28.
# Guess: dynamicTyping makes numbers and booleans of the cells of a CSV file, and leaves the rest as text.
# Seen: a time in RFC 3339 becomes a Date, which a comparison or a template with the text of the cell does not expect.
#   7 true
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit papaparse@5.7.1
cat >run.mjs <<'END'
import Papa from "papaparse";
const [{ votes, posted_at }] = Papa.parse("votes,posted_at\n7,2026-09-20T10:00:00Z", { header: true, dynamicTyping: true }).data;
console.log(votes, posted_at instanceof Date);
END
[ "$(node run.mjs)" = "7 true" ]
