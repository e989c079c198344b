import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { expect, test } from "vitest";
import { url } from "./server";

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Returns the bytes of what a bundler makes of some code, after gzip. The GraphQL clients are not in it. */
async function bytes(code: string): Promise<number> {
  const entry = "\0entry";
  const result = await build({
    root,
    configFile: false,
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (/\bentry$/.test(id) ? entry : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
    build: {
      write: false,
      minify: true,
      target: "es2022",
      lib: { entry: "entry", formats: ["es"], fileName: "bundle" },
      rolldownOptions: { external: [/^@urql/, /^@apollo/, "graphql", "relay-runtime"] },
    },
  });
  const [{ output }] = [result].flat() as unknown as [{ output: { code: string }[] }];
  return gzipSync(output[0]?.code ?? "", { level: 9 }).length;
}

const dist = (file: string) => JSON.stringify(join(root, "dist", file));

// In bytes after gzip. README.md has these limits.
test.each([
  ["all of the core", `export * from ${dist("index.js")}`, 4096],
  ["the rule alone", `export { move, next, shown } from ${dist("index.js")}`, 650],
  ["votes for an own client", `export { Votes } from ${dist("index.js")}`, 1600],
  ["votes in a GraphQL client's fetch", `export { Votes, votingFetch } from ${dist("index.js")}`, 2600],
  ["subscriptions that resume", `export { follow } from ${dist("index.js")}`, 1350],
  ["urql", `export * from ${dist("urql.js")}`, 950],
  ["Apollo Client", `export * from ${dist("apollo.js")}`, 2250],
  ["Relay", `export * from ${dist("relay.js")}`, 3800],
])("the size of %s", async (_name, code, limit) => {
  const size = await bytes(code);
  expect(size).toBeLessThanOrEqual(limit);
  expect(size, "the limit is not far away").toBeGreaterThan(limit * 0.7);
  const readme = readFileSync(join(root, "README.md"), "utf8");
  expect(readme).toContain(`| ${limit.toLocaleString("en")} |`);
});

test("the core depends on nothing", () => {
  const sources = ["client", "documents", "fetch", "index", "live", "rule", "votes"].map((name) =>
    readFileSync(join(root, `src/${name}.ts`), "utf8"),
  );
  const imported = sources.join("\n").matchAll(/from "([^"]+)"/g);
  for (const [, name] of imported) expect(name).toMatch(/^\.\//);
  expect(manifest.dependencies).toBeUndefined();
});

test("npm installs from a site what the package needs, and nothing else", () => {
  const folder = mkdtempSync(join(tmpdir(), "client-"));
  execFileSync("npm", [
    "install",
    "--silent",
    "--no-audit",
    "--prefix",
    folder,
    new URL("/client.tgz", url).href,
  ]);
  const installed = join(folder, "node_modules/frontpage-client");
  const names = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(installed, join(entry.parentPath, entry.name)));
  expect(readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
    "frontpage-client",
  ]);
  rmSync(folder, { recursive: true });
  const modules = "apollo client connections documents fetch index live relay rule urql votes".split(" ");
  const built = modules.flatMap((name) => [".d.ts", ".js", ".js.map"].map((end) => `dist/${name}${end}`));
  expect(names.sort()).toEqual(
    ["LICENSE", "README.md", "package.json", ...built, ...modules.map((name) => `src/${name}.ts`)].sort(),
  );
  for (const entry of Object.values(manifest.exports) as (string | Record<string, string>)[])
    for (const file of typeof entry === "string" ? [entry] : Object.values(entry)) {
      expect(existsSync(join(root, file)), file).toBe(true);
      expect(names).toContain(file.slice(2));
    }
  expect(readFileSync(join(root, "LICENSE"), "utf8")).toBe(readFileSync(join(root, "../../LICENSE"), "utf8"));
});
