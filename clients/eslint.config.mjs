// The recommended schema rules of graphql-eslint for schema.graphqls. Run it in the root of the repository.
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
      // Descriptions of one line are strings, longer ones are block strings.
      "@graphql-eslint/description-style": "off",
      // These types have no identity: they are never fetched by id.
      "@graphql-eslint/strict-id-in-types": [
        "error",
        { exceptions: { types: ["ArticleVersion", "BestRank", "Denial", "Event", "ExportPart", "FlaggedChange", "FlaggedItem", "FrontPage", "ModerationEntry", "Notice", "NoticeContact", "PageInfo", "PublicLogEntry", "RankAt", "RankedBy", "RateLimit", "Removal", "Site", "SiteRules", "TextRange", "VoidedVote", "VoteRing"], suffixes: ["Connection", "Edge", "Error", "Payload"] } },
      ],
    },
  },
];
