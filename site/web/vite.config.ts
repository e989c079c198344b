import { readFileSync, writeFileSync } from "node:fs";
import { minifySync, type Plugin } from "vite";
import { defineConfig } from "vitest/config";

const server = process.env.FRONTPAGE_URL ?? "http://127.0.0.1:8080";

// In development, the configuration comes from here: `vite` serves the page without configured.go.
const config: Plugin = {
  name: "config",
  apply: "serve",
  configureServer({ middlewares }) {
    middlewares.use("/config.json", (_, response) => {
      const texts = JSON.parse(readFileSync("site/strings/en.json", "utf8"));
      response.end(JSON.stringify({ name: "Frontpage", links: [], rules: [], without: [], texts }));
    });
  },
};

// The first script is in each page, as the server sends it: see configured.go. Vite copies it as it is.
const early: Plugin = {
  name: "early",
  apply: "build",
  closeBundle() {
    const { code, errors } = minifySync("early.js", readFileSync("site/public/early.js", "utf8"));
    if (errors[0]) throw errors[0];
    writeFileSync("dist/site/early.js", code);
  },
};

// The scripts after the first have neither files to preload nor a style, which is what Vite's own function is for.
const preload: Plugin = {
  name: "preload",
  apply: "build",
  enforce: "pre",
  load: (id) =>
    id === "\0vite/preload-helper.js" ? "export const __vitePreload = (load) => load();" : undefined,
};

export default defineConfig({
  plugins: [config, early, preload],
  root: "site",
  cacheDir: "../node_modules/.vite",
  // Vite compiles JSX itself, without a plugin.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/site",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false, // the server sends a header: see web.go
    license: { fileName: "licenses.md" },
    // The first files have names without hashes, so that builds of two branches differ in the same few files. The other
    // scripts need one: a page that is open while the server is replaced must not load those of another version.
    rolldownOptions: {
      output: {
        entryFileNames: "assets/site.js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name][extname]",
        // One request gets all that the first page needs, also what the other scripts share with it.
        codeSplitting: { groups: [{ name: "site", tags: ["$initial"] }] },
      },
    },
  },
  server: {
    fs: { allow: ["..", "../../../clients/js"] },
    proxy: { "/query": { target: server, ws: true }, "/graphiql": server },
  },
  test: {
    environment: "happy-dom",
    setupFiles: "test-setup.ts",
    include: ["**/*.test.ts", "**/*.test.tsx", "../../../clients/js/test/rule.test.ts"],
  },
});
