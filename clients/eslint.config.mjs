// The schema rules of graphql-eslint for schema.graphqls, run from the folder above.
import graphql from "@graphql-eslint/eslint-plugin";

export default [
  {
    files: ["*.graphqls"],
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: "schema.graphqls" } },
    },
    plugins: { "@graphql-eslint": graphql },
    rules: {
      ...graphql.configs["flat/schema-recommended"].rules,
      // A sentence is written in one line, what is longer as a block.
      "@graphql-eslint/description-style": "off",
      // These are no things of their own: nobody asks for them again by an id.
      "@graphql-eslint/strict-id-in-types": [
        "error",
        { exceptions: { types: ["ModerationEntry", "PageInfo", "RateLimit"], suffixes: ["Connection", "Edge", "Error", "Payload"] } },
      ],
    },
  },
];
