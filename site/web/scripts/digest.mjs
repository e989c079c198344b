// Writes dist/digest.txt, a digest of the sources of dist. A Go test compares it, to detect without Node that
// dist is out of date.
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));
const sha256 = (content) => createHash("sha256").update(content).digest("hex");

const files = [
  "../../schema.graphqls",
  "scripts/codegen.mjs",
  "scripts/digest.mjs",
  "scripts/package.mjs",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "vite.config.ts",
  "vite.explorer.config.ts",
  "../../clients/js/LICENSE",
  "../../clients/js/README.md",
  "../../clients/js/package.json",
  "../../clients/js/tsconfig.json",
];
for (const folder of ["site", "explorer", "../../clients/js/src"]) {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).replaceAll("\\", "/");
    if (entry.isFile() && !/\.test\.tsx?$/.test(path)) files.push(path);
  }
}
files.sort();
const lines = await Promise.all(files.map(async (path) => `${path}\0${sha256(await readFile(path))}\n`));
await writeFile("dist/digest.txt", `${sha256(lines.join(""))}\n`);
