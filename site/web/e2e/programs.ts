import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The browser: CHROMIUM, which needs.sh sets, or Debian's Chromium. */
export const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** A Chromium with windows: without, it has no back/forward cache. */
export const windowedChromium = process.env.WINDOWED_CHROMIUM ?? "/usr/bin/chromium";

/** Builds the server, and an OIDC provider, once for all tests, after checking that the required programs are installed. */
export default function setup(): () => void {
  requireProgram(chromium, "install chromium, or set CHROMIUM to another Chromium or Chrome");
  requireProgram(
    windowedChromium,
    "install chromium, or set WINDOWED_CHROMIUM to another Chromium or Chrome with windows",
  );
  requireProgram("redis-server", "install redis-server");
  requireProgram("go", "install Go", "version");
  const folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
  process.env.FRONTPAGE_BINARY = join(folder, "frontpage");
  execFileSync("go", ["build", "-o", process.env.FRONTPAGE_BINARY, "."], {
    cwd: join(import.meta.dirname, "../../.."),
    stdio: "inherit",
  });
  process.env.FRONTPAGE_OIDC = join(folder, "oidc");
  execFileSync("go", ["build", "-o", process.env.FRONTPAGE_OIDC, "."], {
    cwd: join(import.meta.dirname, "../../../tests/oidc"),
    stdio: "inherit",
  });
  return () => rmSync(folder, { recursive: true });
}

function requireProgram(program: string, advice: string, flag = "--version"): void {
  try {
    execFileSync(program, [flag], { stdio: "ignore" });
  } catch (error) {
    throw new Error(`cannot run ${program}: ${advice}`, { cause: error });
  }
}
