import { type Client } from "graphql-ws";

const query = `subscription Posted($group: String, $after: String) {
  articlePosted(group: $group, after: $after) { cursor node { id title } }
}`;

interface Posted {
  articlePosted: { cursor: string; node: { id: string; title: string } };
}

/** Calls show for each article posted after the cursor. Returns a function that ends that. */
export function follow(client: Client, after: string, show: (article: Posted["articlePosted"]["node"]) => void, failed: (err: unknown) => void) {
  // The client sends the variables again after each lost connection, with the cursor that they have then.
  const variables = { after };
  return client.subscribe<Posted>(
    { query, variables },
    {
      next({ data, errors }) {
        if (!data) return failed(errors);
        show(data.articlePosted.node);
        variables.after = data.articlePosted.cursor;
      },
      error: failed,
      complete() {},
    },
  );
}
