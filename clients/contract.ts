// Checks that the server serves schema.graphqls, and that schema.graphqls is compatible with the clients
// of the contract, released.graphqls.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type Change, CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildClientSchema, buildSchema, getIntrospectionQuery, type GraphQLSchema, printSchema } from "graphql";
import { main, url } from "./endpoint";
import type { FrontPageQuery, WalkQuery } from "./generated/strict/graphql";

// tsc fails if a list may be null here, which @semanticNonNull says that only an error makes it.
export const articles = (page: FrontPageQuery): object[] => page.articles;
export const edges = (list: WalkQuery): object[] => list.articlesConnection.edges;

const read = (file: string) => buildSchema(readFileSync(file, "utf8"));

async function introspect(): Promise<GraphQLSchema> {
  const query = getIntrospectionQuery({ specifiedByUrl: true, directiveIsRepeatable: true, inputValueDeprecation: true });
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  // Printed and parsed again: the diff reads directives such as @specifiedBy from the syntax tree.
  return buildSchema(printSchema(buildClientSchema(data)));
}

// Without its default a value may be required, and a request that leaves it out is refused: the library calls that dangerous only.
const losesDefault = ({ meta }: Change) => meta.oldDefaultValue !== undefined && meta.newDefaultValue === undefined;

const list = (changes: Change[]) => changes.map(({ criticality, message }) => `${criticality.level}: ${message}`).join("\n");

main(async () => {
  const written = read("../schema.graphqls");
  // Introspection does not say which fields have a directive.
  const differences = (await diff(written, await introspect())).filter(({ message }) => !message.includes("'semanticNonNull' was removed from field"));
  assert.equal(differences.length, 0, `the server does not serve schema.graphqls:\n${list(differences)}`);

  const changes = await diff(read("released.graphqls"), written);
  const breaking = changes.filter((change) => change.criticality.level === CriticalityLevel.Breaking || losesDefault(change));
  assert.equal(breaking.length, 0, `schema.graphqls breaks clients of the contract, released.graphqls:\n${list(breaking)}`);
  console.log(`graphql-inspector: the server serves schema.graphqls; ${changes.length} changes since the contract, none breaking`);
});
