import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { host, links } from "./text";

test.each([
  ["https://go.dev/blog/x", "go.dev"],
  ["https://www.example.com/", "example.com"],
  ["https://wwwx.example/", "wwwx.example"],
  ["https://a.www.example/", "a.www.example"],
  ["HTTPS://GO.DEV", "go.dev"],
  ["http://localhost:8080/a", "localhost:8080"],
  ["https://go.dev:443/", "go.dev"],
  ["https://bank.example@evil.example/", "evil.example"],
  ["http://[::1]/", "[::1]"],
  ["https://☃.net/", "xn--n3h.net"], // punycode shows look-alike letters
])("host of %s is %s", (link, name) => {
  expect(host(link)).toBe(name);
});

// The table of the tests of redisrepo.HostOf.
test("hosts are named as the API names them", () => {
  const hosts: Record<string, string> = JSON.parse(
    readFileSync("../../redisrepo/testdata/hosts.json", "utf8"),
  );
  expect(Object.keys(hosts).length).toBeGreaterThan(20);
  for (const [link, name] of Object.entries(hosts)) expect([link, host(link)]).toEqual([link, name]);
});

// Links that net/url accepts and browsers reject: one such post must not break a list.
test.each([
  "http://256.256.256.256/",
  "http://1.2.3.4.5/",
  "http://foo.123/",
  "http://a.b.c:99999/",
  "http://xn--a/",
  "http://[fe80::1%25en0]/",
])("host of a link that only the server accepts: %s", (link) => {
  expect(typeof host(link)).toBe("string");
});

const only = (text: string) => links(text).filter((_, i) => i % 2 === 1);

test.each<[string, string[]]>([
  ["", []],
  ["none at all", []],
  ["https://a.example/x", ["https://a.example/x"]],
  ["see http://a.example.", ["http://a.example"]],
  ["https://en.wikipedia.org/wiki/Go_(game)", ["https://en.wikipedia.org/wiki/Go_(game)"]],
  ["(see https://a.example/x_(y).)", ["https://a.example/x_(y)"]],
  ["(see https://a.example/x)", ["https://a.example/x"]],
  ["[https://a.example/x], {https://b.example/}!", ["https://a.example/x", "https://b.example/"]],
  ["'https://a.example/x'", ["https://a.example/x"]],
  ['"https://a.example/x"', ["https://a.example/x"]],
  ["<https://a.example/x>", ["https://a.example/x"]],
  ["https://a.example/x?!", ["https://a.example/x"]],
  ["is it https://a.example/?q=1&r=a,b#c?", ["https://a.example/?q=1&r=a,b#c"]],
  ["https://a.example/x...", ["https://a.example/x"]],
  [
    "https://a.example\nhttps://b.example\thttps://c.example",
    ["https://a.example", "https://b.example", "https://c.example"],
  ],
  ["https://a.example/ https://a.example/", ["https://a.example/", "https://a.example/"]],
  ["https://a.example/ü/🐹", ["https://a.example/ü/🐹"]],
  ["https://", []],
  ["https://)", []],
  ["xhttps://a.example", []],
  ["javascript:alert(1)", []],
  ["data:text/html,x mailto:a@b.example ftp://a.example //a.example www.a.example", []],
  ["https:/a.example https:a.example", []],
])("links in %s", (text, found) => {
  expect(only(text)).toEqual(found);
  expect(links(text).join("")).toBe(text);
  for (const link of only(text)) expect(link).toMatch(/^https?:\/\//);
});

test("the longest text is split quickly", () => {
  for (const text of ["https://", "https://)", "h", "https://a.example/).", "(".repeat(10)]) {
    const began = performance.now();
    links(text.repeat(10_000 / text.length));
    expect(performance.now() - began).toBeLessThan(500);
  }
});
