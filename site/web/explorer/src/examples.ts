import operations from "../examples.graphql?raw";

// Variables of the examples, by operation name. The first example must have none: GraphiQL does not show the
// variables of the initial tab.
const variables: Record<string, object> = {
  Walk: { first: 5, after: null },
  Post: { input: { title: "Hello", text: "Posted from the explorer.", groups: ["hello"] } },
  Vote: { input: { article: "1", direction: "UP" } },
  WatchVotes: { ids: ["1", "2", "3"] },
  WatchPosts: { group: null },
};

/** Example operations, one per tab. They are separated by empty lines. */
export const examples = operations
  .trim()
  .split("\n\n")
  .map((query) => {
    const name = /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? "";
    return { query, variables: name in variables ? JSON.stringify(variables[name], null, 2) : undefined };
  });
