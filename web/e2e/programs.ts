import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The browser: Debian's, or another one that CHROMIUM names. */
export const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Builds the server once, for all tests, and finds out whether what they need is there. */
export default function setup(): () => void {
  need(chromium, "install chromium, or set CHROMIUM to another Chromium or Chrome");
  need("redis-server", "install redis-server");
  need("go", "install Go", "version");
  const folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
  process.env.FRONTPAGE_BINARY = join(folder, "frontpage");
  execFileSync("go", ["build", "-o", process.env.FRONTPAGE_BINARY, "."], {
    cwd: join(import.meta.dirname, "../.."),
    stdio: "inherit",
  });
  return () => rmSync(folder, { recursive: true });
}

function need(program: string, advice: string, ask = "--version"): void {
  try {
    execFileSync(program, [ask], { stdio: "ignore" });
  } catch (error) {
    throw new Error(`${program} does not run: ${advice}`, { cause: error });
  }
}
