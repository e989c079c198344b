import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "schema.graphqls",
  documents: "front.graphql",
  generates: {
    "gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: { strictScalars: true, scalars: { DateTime: "string", URL: "string" }, enumsAsTypes: true },
    },
  },
};

export default config;
