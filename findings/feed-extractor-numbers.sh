#!/bin/bash
# @extractus/feed-extractor 8.0.3 (npm), Node 20, 2026-11-28.
# Guess: titles come as they are written.
# Seen: a title that reads as a number is converted to one: "007", "1e3" and "0x10" become
#   7 1000 16
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit @extractus/feed-extractor@8.0.3
cat >run.mjs <<'END'
import { extractFromXml } from "@extractus/feed-extractor";
const item = (title) => `<item><title>${title}</title><link>https://example.org/${title}</link></item>`;
const { entries } = extractFromXml(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<link>https://news.example.org/</link><description>News</description>${["007", "1e3", "0x10"].map(item).join("")}</channel></rss>`);
console.log(...entries.map(({ title }) => title));
END
[ "$(node run.mjs)" = "7 1000 16" ]
