import { defineConfig } from "vitest/config";

const server = process.env.FRONTPAGE_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  root: "site",
  cacheDir: "../node_modules/.vite",
  // Vite compiles JSX itself, without a plugin.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/site",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    // Names without hashes, so that builds of two branches differ in the same few files.
    rolldownOptions: {
      output: {
        entryFileNames: "assets/site.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: { proxy: { "/query": { target: server, ws: true }, "/graphiql": server } },
  test: { environment: "happy-dom", include: ["**/*.test.ts", "**/*.test.tsx"] },
});
