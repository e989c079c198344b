// All audits of GraphQL over HTTP, including those that the specification only recommends.
import assert from "node:assert/strict";
import { serverAudits } from "graphql-http";
import { main, url } from "./endpoint";

main(async () => {
  const audits = serverAudits({ url });
  const failed: string[] = [];
  for (const audit of audits) {
    const result = await audit.fn();
    if (result.status !== "ok") failed.push(`${result.id} ${result.name}: ${result.reason}`);
  }
  assert(audits.length >= 61, `graphql-http has only ${audits.length} audits`);
  assert.equal(failed.length, 0, `${failed.length} of ${audits.length} audits failed:\n${failed.join("\n")}`);
  console.log(`graphql-http: ${audits.length} audits`);
});
