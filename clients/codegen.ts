// Generates types for the same operations from the schema that the server has at a URL, and from its introspection; run.sh
// fails if they differ. And from the former for clients that check errors before they read data: see contract.ts.
import type { CodegenConfig } from "@graphql-codegen/cli";

const endpoint = process.env["FRONTPAGE_URL"] ?? "";
const written = new URL("/schema.graphqls", endpoint).href;
const config = { strictScalars: true, scalars: { DateTime: "string", URL: "string" }, enumsAsTypes: true, useTypeImports: true };
const types = { preset: "client" as const, presetConfig: { fragmentMasking: false }, config };
const strict = {
  ...types,
  schema: written,
  config: { ...config, nullability: { errorHandlingClient: true } },
};

const all: CodegenConfig = {
  documents: "operations.graphql",
  generates: {
    "generated/sdl/": { ...types, schema: written },
    "generated/live/": { ...types, schema: endpoint },
    "generated/strict/": strict,
  },
};

export default all;
