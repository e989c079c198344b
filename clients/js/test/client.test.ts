import { expect, test } from "vitest";
import { connect, GraphQLFailure } from "../src/client.ts";

// A mutation that fails makes its field null: a response has data, but the vote may not have counted.
test("a vote that failed is not taken for one that counted", async () => {
  const answer = {
    data: { vote: null },
    errors: [{ message: "try again", extensions: { code: "INTERNAL" } }],
  };
  const fetch = async () =>
    new Response(JSON.stringify(answer), { status: 200, headers: { "Content-Type": "application/json" } });
  const { vote } = connect({ url: "http://site.test/query", fetch });
  await expect(vote("article:1", "UP")).rejects.toThrow(GraphQLFailure);
});
