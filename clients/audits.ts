// All audits of GraphQL over HTTP, including those that the specification only recommends. Two of them ask for 400 where the
// specification of August 2026 has 422.
import assert from "node:assert/strict";
import { serverAudits } from "graphql-http";
import { main, url } from "./endpoint";

const superseded = ["423L", "86EE"]; // no query, and variables that cannot be coerced

main(async () => {
  const audits = serverAudits({ url });
  const failed: string[] = [];
  for (const audit of audits) {
    const result = await audit.fn();
    if ((result.status !== "ok") !== superseded.includes(audit.id)) failed.push(`${audit.id} ${audit.name}: ${JSON.stringify(result)}`);
  }
  assert(audits.length >= 61, `graphql-http has only ${audits.length} audits`);
  assert.equal(failed.length, 0, `${failed.length} of ${audits.length} audits failed:\n${failed.join("\n")}`);
  console.log(`graphql-http: ${audits.length} audits`);
});
