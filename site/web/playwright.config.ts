import { defineConfig } from "@playwright/test";
import { chromium } from "./e2e/programs";

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  globalSetup: "./e2e/programs.ts",
  fullyParallel: true,
  workers: 2,
  forbidOnly: process.env.CI !== undefined,
  reporter: "list",
  timeout: 900_000,
  expect: { timeout: 120_000 },
  use: {
    actionTimeout: 120_000,
    locale: "en-GB",
    timezoneId: "Asia/Tokyo",
    screenshot: "only-on-failure",
    serviceWorkers: "block", // tests could not intercept the requests that pass through one
    launchOptions: {
      executablePath: chromium,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
