// Builds the package of clients/js into dist/client.tar, as npm pack would: the same bytes by any version of Node and npm.
import { execFileSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { pack } from "tar-stream";

process.chdir(join(import.meta.dirname, ".."));
const source = "../../clients/js";
const build = ".client"; // in this folder, whose packages have the types that it imports
await rm(build, { recursive: true, force: true });
for (const name of ["src", "package.json", "tsconfig.json", "README.md", "LICENSE"])
  await cp(join(source, name), join(build, name), { recursive: true });
execFileSync("tsc", ["-p", build], { stdio: "inherit" });
await rm(join(build, "tsconfig.json"));

const entries = await readdir(build, { recursive: true, withFileTypes: true });
const files = entries
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).replaceAll("\\", "/"))
  .sort();
const archive = pack();
const written = pipeline(archive, createWriteStream("dist/client.tar"));
const mtime = new Date("1985-10-26T08:15:00Z"); // as npm has it
for (const file of files)
  archive.entry({ name: file.replace(build, "package"), mode: 0o644, mtime }, await readFile(file));
archive.finalize();
await written;
await rm(build, { recursive: true });
