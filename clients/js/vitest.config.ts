import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vitest/config";

export default defineConfig({
  cacheDir: "../node_modules/.vite",
  plugins: [vue(), svelte()],
  // Svelte has another build for servers, which Node gets by default.
  resolve: { conditions: ["browser", "module", "import", "default"] },
  test: {
    testTimeout: 30_000,
    environmentOptions: { happyDOM: { settings: { fetch: { disableSameOriginPolicy: true } } } },
  },
});
