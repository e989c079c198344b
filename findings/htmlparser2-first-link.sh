#!/bin/bash
# htmlparser2 12.0.0 with domutils 4.0.2 (npm), Node 20, 2026-11-28.
# Guess: parseFeed() takes as the link of an Atom feed, and of an entry, the one with rel="alternate" (RFC 4287, 4.2.7.2).
# Seen: it takes the first, whatever its rel is: the feed's own address, and the page of the comments.
#   https://news.example.org/feed.atom https://news.example.org/a/1
# A feed that such readers shall open has rel="alternate" first: the order has no meaning in Atom.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit htmlparser2@12.0.0 domutils@4.0.2
cat >run.mjs <<'END'
import { parseFeed } from "htmlparser2";
const feed = parseFeed(`<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
<id>tag:news.example.org,2026:feed</id><updated>2026-06-01T10:00:00Z</updated>
<link rel="self" href="https://news.example.org/feed.atom"/><link rel="alternate" href="https://news.example.org/"/>
<entry><title>One</title><id>tag:news.example.org,2026:1</id><updated>2026-06-01T10:00:00Z</updated><author><name>alice</name></author>
<link rel="replies" href="https://news.example.org/a/1"/><link rel="alternate" href="https://example.org/story"/></entry></feed>`);
console.log(feed.link, feed.items[0].link);
END
[ "$(node run.mjs)" = "https://news.example.org/feed.atom https://news.example.org/a/1" ]
