// A search engine of one's own, here MiniSearch, that follows the change feed: for sites whose index no longer fits in the memory of
// each process, and for what the site's search does not do. It keeps ids and titles; results are read from the site again.
import assert from "node:assert/strict";
import MiniSearch from "minisearch";
import { main, url } from "./endpoint";
import { post } from "./live";

interface Document {
  id: string;
  title: string;
}

interface Page {
  pageInfo: { endCursor: string; hasNextPage: boolean };
}

/** What the consumer stores, in one step: with an engine on disk, in one transaction. */
interface Stored {
  engine: MiniSearch<Document>;
  cursor: string;
}

/** Executes an operation, and returns the code of its first error, if there is one. */
async function send<Data>(query: string, variables: object = {}, role = "service"): Promise<{ data: Data; code?: string }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": "indexer", "X-User-Roles": role },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  return { data, code: errors?.[0].extensions.code };
}

/** Reads the events after a cursor in pages: the articles that they change, and the cursor after them. */
async function* changes(after: string): AsyncGenerator<{ ids: string[]; cursor: string; gap: boolean }> {
  for (let more = true; more; ) {
    const { data, code } = await send<{ events: Page & { nodes: { articleId: string }[]; gap: boolean } }>(
      `query ($after: String) { events(after: $after, kinds: [POSTED, EDITED, DELETED, UNDELETED], first: 100) {
        nodes { articleId } gap pageInfo { endCursor hasNextPage } } }`,
      { after },
    );
    if (code) throw new Error(code);
    const { nodes, gap, pageInfo } = data.events;
    yield { ids: [...new Set(nodes.map(({ articleId }) => articleId))], cursor: pageInfo.endCursor, gap };
    after = pageInfo.endCursor;
    more = pageInfo.hasNextPage;
  }
}

/** Builds an index of all articles. The cursor is read first: what changes meanwhile is read again afterwards. */
async function build(): Promise<Stored> {
  const stored: Stored = { engine: new MiniSearch<Document>({ fields: ["title"] }), cursor: "" };
  for await (const { cursor } of changes("")) stored.cursor = cursor;
  for (let after: string = "", more = true; more; ) {
    const { data } = await send<{ articles: Page & { nodes: Document[] } }>(
      "query ($after: String) { articles: articlesConnection(order: TIME, first: 100, after: $after) { nodes { id title } pageInfo { endCursor hasNextPage } } }",
      { after },
    );
    for (const article of data.articles.nodes) put(stored.engine, article);
    after = data.articles.pageInfo.endCursor;
    more = data.articles.pageInfo.hasNextPage;
  }
  return stored;
}

/** Puts an article into the engine. An event may come twice. */
function put(engine: MiniSearch<Document>, article: Document): void {
  if (engine.has(article.id)) engine.replace(article);
  else engine.add(article);
}

/** Brings the index up to date: the articles of each event are read as they are now. Builds it again if events are missing. */
async function follow(stored: Stored): Promise<Stored> {
  try {
    for await (const { ids, cursor, gap } of changes(stored.cursor)) {
      if (gap) return await build();
      const { data } = await send<{ nodes: (Document | null)[] }>("query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Article { id title } } }", { ids });
      ids.forEach((id, i) => {
        const article = data.nodes[i];
        if (article) put(stored.engine, article);
        else if (stored.engine.has(id)) stored.engine.discard(id); // it is deleted
      });
      stored.cursor = cursor;
    }
    return stored;
  } catch (error) {
    if ((error as Error).message !== "CURSOR_EXPIRED") throw error;
    return await build();
  }
}

main(async () => {
  let stored = await build();
  assert(stored.engine.documentCount >= 500, "imported articles are in the index, though not in the feed");
  const { id } = await post("searcher", "Quokkas of Rottnest", []);
  const finds = async (query: string, want: boolean) => {
    stored = await follow(stored);
    assert.equal(stored.engine.search(query, { combineWith: "AND", fuzzy: 0.2 })[0]?.id === id, want, query);
  };
  const change = async (mutation: string) => assert.equal((await send(`mutation { ${mutation} }`, {}, "moderator")).code, undefined);
  await finds("quokas", true);
  await change(`editArticle(input: { article: "${id}", title: "Numbats of Dryandra" }) { userErrors { message } }`);
  await finds("quokkas", false);
  await finds("numbats", true);
  await change(`deleteArticle(input: { article: "${id}" }) { userErrors { message } }`);
  await finds("numbats", false);
  await change(`restoreArticle(input: { article: "${id}" }) { userErrors { message } }`);
  await finds("numbats", true);
  console.log(`search: MiniSearch follows the change feed, ${stored.engine.documentCount} articles`);
});
