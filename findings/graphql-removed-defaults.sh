#!/bin/bash
# graphql 16.15.0 and 17.1.0 with @graphql-inspector/core 8.0.0 (npm), Node 20, 2026-11-29.
# Guess: an input field or an argument that is not nullable and loses its default is a breaking change: requests that left
# it out are refused from then on.
# Seen: none says so. For the input field, graphql 16 finds no change at all; the others find one that is dangerous, which
# is also what they say of another default, and what a check for breaking changes lets pass.
#   Field "VoteInput.weight" of required type "Int!" was not provided.
#   16: breaking [], dangerous [ARG_DEFAULT_VALUE_CHANGE]
#   17: breaking [], dangerous [ARG_DEFAULT_VALUE_CHANGE,INPUT_FIELD_DEFAULT_VALUE_CHANGE]
#   inspector: DANGEROUS,DANGEROUS
# A check looks at the types itself: required now, and with a default before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit graphql@16.15.0 later@npm:graphql@17.1.0 @graphql-inspector/core@8.0.0
cat >run.mjs <<'END'
import { diff } from "@graphql-inspector/core";
import * as graphql from "graphql";
import * as later from "later";
const before = `type Query { articles(page: Int! = 1): Int }
input VoteInput { weight: Int! = 1 } type Mutation { vote(input: VoteInput!): Int }`;
const after = before.replaceAll(" = 1", "");
const request = graphql.parse("mutation { vote(input: {}) }");
const errors = (text) => graphql.validate(graphql.buildSchema(text), request).map(({ message }) => message);
console.log(...errors(before), ...errors(after));
for (const { version, buildSchema, findBreakingChanges, findDangerousChanges } of [graphql, later]) {
  const list = (find) => find(buildSchema(before), buildSchema(after)).map(({ type }) => type).sort();
  console.log(`${version.slice(0, 2)}: breaking [${list(findBreakingChanges)}], dangerous [${list(findDangerousChanges)}]`);
}
const changes = await diff(graphql.buildSchema(before), graphql.buildSchema(after));
console.log(`inspector: ${changes.map(({ criticality }) => criticality.level)}`);
END
[ "$(node run.mjs)" = 'Field "VoteInput.weight" of required type "Int!" was not provided.
16: breaking [], dangerous [ARG_DEFAULT_VALUE_CHANGE]
17: breaking [], dangerous [ARG_DEFAULT_VALUE_CHANGE,INPUT_FIELD_DEFAULT_VALUE_CHANGE]
inspector: DANGEROUS,DANGEROUS' ]
