// Generates types for the same operations twice: from the schema that the server has at a URL, and from its introspection.
// run.sh fails if they differ.
import type { CodegenConfig } from "@graphql-codegen/cli";

const endpoint = process.env["FRONTPAGE_URL"] ?? "";
const client = (schema: string): CodegenConfig["generates"][string] => ({
  schema,
  preset: "client",
  presetConfig: { fragmentMasking: false },
  config: { strictScalars: true, scalars: { DateTime: "string", URL: "string" }, enumsAsTypes: true, useTypeImports: true },
});

const config: CodegenConfig = {
  documents: "operations.graphql",
  generates: {
    "generated/sdl/": client(new URL("/schema.graphqls", endpoint).href),
    "generated/live/": client(endpoint),
  },
};

export default config;
