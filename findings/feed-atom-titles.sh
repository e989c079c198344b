#!/bin/bash
# feed 6.0.0 (npm), Node 20, 2026-11-29.
# Guess: an item's title is plain text in each format, as the feed's own title is.
# Seen: an item's title is marked as HTML in Atom, but not escaped: of "The <main> element" a reader shows "The  element"
# (RFC 4287, 3.1.1.2). JSON Feed has it as text, so a title that names an element is right in one of the two only.
#   Atom <title type="html"><![CDATA[The <main> element]]></title>, JSON The <main> element
# Escape the titles for atom1() only, in a feed of its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit feed@6.0.0
cat >run.mjs <<'END'
import { Feed } from "feed";
const feed = new Feed({ title: "The <main> news", id: "https://news.example.org/", link: "https://news.example.org/", updated: new Date(0) });
feed.addItem({ title: "The <main> element", link: "https://example.org/1", date: new Date(0) });
const atom = feed.atom1();
console.log(/<title>.*<\/title>/.exec(atom)[0]);
console.log(/<title type.*<\/title>/.exec(atom)[0], JSON.parse(feed.json1()).items[0].title);
END
[ "$(node run.mjs)" = '<title>The &lt;main&gt; news</title>
<title type="html"><![CDATA[The <main> element]]></title> The <main> element' ]
