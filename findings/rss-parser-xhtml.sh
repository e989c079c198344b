#!/bin/bash
# rss-parser 3.13.0 (npm), Node 20, 2026-11-28.
# Guess: of Atom's <content type="xhtml"> it returns the markup of the div (RFC 4287, 4.1.3.3).
# Seen: it moves all text of an element before its children, so the sentence "One <b>two</b> three <i>four</i>" becomes
#   <p>One  three <b>two</b><i>four</i></p>
# A feed that such readers shall show writes type="html".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit rss-parser@3.13.0
cat >run.mjs <<'END'
import Parser from "rss-parser";
const { items } = await new Parser().parseString(`<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
<id>tag:news.example.org,2026:feed</id><updated>2026-06-01T10:00:00Z</updated>
<entry><title>One</title><id>tag:news.example.org,2026:1</id><updated>2026-06-01T10:00:00Z</updated><author><name>alice</name></author>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One <b>two</b> three <i>four</i></p></div></content></entry></feed>`);
console.log(/<p>.*<\/p>/.exec(items[0].content)[0]);
END
[ "$(node run.mjs)" = "<p>One  three <b>two</b><i>four</i></p>" ]
