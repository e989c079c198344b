import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const base = "/graphiql/";
const licenses = "licenses.md";

// Moves fonts from data URLs in styles to files: embedded fonts are loaded even if unused, and need a weaker
// Content-Security-Policy. This runs before the hashes in the names of the style files are computed.
const fonts: Plugin = {
  name: "fonts",
  transform: {
    filter: { id: /\.css$/ },
    handler(code) {
      return code.replace(/url\(data:font\/(\w+);base64,([^)]+)\)/g, (_, type, data) => {
        const source = Buffer.from(data, "base64");
        const digest = createHash("sha256").update(source).digest("base64url").slice(0, 8);
        const fileName = `assets/font-${digest}.${type}`;
        this.emitFile({ type: "asset", fileName, source });
        return `url(${base}${fileName})`;
      });
    },
  },
};

// This rule of graphql-js 16 cannot evaluate conditions: it throws an error out of the whole validation if the field of a
// subscription has @include or @skip with a variable, or while one is being written. Other rules say what is wrong there.
const conditions: Plugin = {
  name: "conditions",
  transform: {
    filter: { id: /SingleFieldSubscriptionsRule\.mjs$/ },
    handler(code) {
      const original = "export function SingleFieldSubscriptionsRule(context) {";
      if (!code.includes(original)) return this.error(`graphql has no ${original}`);
      return code.replace(
        original,
        `export function SingleFieldSubscriptionsRule(context) {
          const { OperationDefinition } = throwing(context);
          return { OperationDefinition(node) { try { OperationDefinition(node); } catch {} } };
        }
        function throwing(context) {`,
      );
    },
  },
};

// Folders of the packages whose code is in the page or its workers.
const packages = new Set<string>();

const collect: Plugin = {
  name: "collect",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      for (const id of chunk.type === "chunk" ? chunk.moduleIds : []) {
        const folder = /^\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
        if (folder) packages.add(folder);
      }
    }
  },
};

// Vite lists the licenses of the packages in the page. This adds packages that only the workers use, the
// third-party notices of packages, and the fonts.
const notices: Plugin = {
  name: "notices",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      const list = bundle[licenses];
      if (list?.type !== "asset" || typeof list.source !== "string")
        return this.error(`${licenses} is missing`);
      for (const folder of [...packages].sort()) {
        const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
        const read = (like: RegExp) => {
          const file = readdirSync(folder).find((file) => like.test(file));
          return file ? `\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n` : "";
        };
        if (!list.source.includes(`\n## ${name} - ${version} `)) {
          list.source += `\n## ${name} - ${version} (${license})\n${read(/^licen[cs]e/i)}`;
        }
        const others = read(/^third-?party-?notices/i);
        if (others) list.source += `\n## In ${name} - ${version}\n${others}`;
      }
      list.source += readFileSync(new URL("explorer/fonts.md", import.meta.url), "utf8");
    },
  },
};

export default defineConfig({
  root: "explorer",
  base,
  publicDir: false,
  plugins: [fonts, collect, notices, conditions],
  worker: { plugins: () => [collect, conditions] },
  build: {
    outDir: "../dist/graphiql",
    emptyOutDir: true,
    license: { fileName: licenses },
    chunkSizeWarningLimit: 3000, // kB: the editor
    rolldownOptions: {
      onwarn(warning, warn) {
        // "use client" and similar directives have no effect in a bundle.
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
    },
  },
});
