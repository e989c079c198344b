// Builds the package of clients/js into dist/client.tar, as npm pack would: the same bytes by any version of Node and npm.
import { execFileSync } from "node:child_process";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));
const source = "../clients/js";
const build = ".client"; // in this folder, whose packages have the types that it imports
await rm(build, { recursive: true, force: true });
for (const name of ["src", "package.json", "tsconfig.json", "README.md", "LICENSE"])
  await cp(join(source, name), join(build, name), { recursive: true });
execFileSync("tsc", ["-p", build], { stdio: "inherit" });
await rm(join(build, "tsconfig.json"));

/** Returns the header of a file, as POSIX has it: 512 bytes, mostly octal numbers, and the sum of all bytes. */
function header(name, size) {
  const octal = (value, length) => `${value.toString(8).padStart(length - 1, "0")}\0`;
  const before =
    name.padEnd(100, "\0") +
    octal(0o644, 8) +
    octal(0, 8) +
    octal(0, 8) +
    octal(size, 12) +
    octal(499162500, 12); // npm's date
  const after = "0".padEnd(101, "\0") + "ustar\0" + "00";
  const sum = [...Buffer.from(before + " ".repeat(8) + after)].reduce((a, b) => a + b, 0);
  return Buffer.from((before + `${octal(sum, 7)} ` + after).padEnd(512, "\0"));
}

const entries = await readdir(build, { recursive: true, withFileTypes: true });
const files = entries
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).replaceAll("\\", "/"))
  .sort();
const parts = [];
for (const file of files) {
  const content = await readFile(file);
  parts.push(
    header(file.replace(build, "package"), content.length),
    content,
    Buffer.alloc(-content.length & 511),
  );
}
await writeFile("dist/client.tar", Buffer.concat([...parts, Buffer.alloc(1024)]));
await rm(build, { recursive: true });
