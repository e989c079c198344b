// Generates types for the same operations twice: from the schema file, and from introspection of the
// server. run.sh fails if they differ.
import type { CodegenConfig } from "@graphql-codegen/cli";

const client = (schema: string): CodegenConfig["generates"][string] => ({
  schema,
  preset: "client",
  presetConfig: { fragmentMasking: false },
  config: { strictScalars: true, scalars: { DateTime: "string", URL: "string" }, enumsAsTypes: true, useTypeImports: true },
});

const config: CodegenConfig = {
  documents: "operations.graphql",
  generates: {
    "generated/sdl/": client("../schema.graphqls"),
    "generated/live/": client(process.env["FRONTPAGE_URL"] ?? ""),
  },
};

export default config;
