// The same operations typed twice: by the schema's file, and by introspection of
// the server. run.sh wants no difference.
import type { CodegenConfig } from "@graphql-codegen/cli";

const client = (schema: string): CodegenConfig["generates"][string] => ({
  schema,
  preset: "client",
  presetConfig: { fragmentMasking: false },
  config: { strictScalars: true, scalars: { Time: "string", URL: "string" }, enumsAsTypes: true, useTypeImports: true },
});

const config: CodegenConfig = {
  documents: "operations.graphql",
  generates: {
    "generated/sdl/": client("../schema.graphqls"),
    "generated/live/": client(process.env["FRONTPAGE_URL"] ?? ""),
  },
};

export default config;
