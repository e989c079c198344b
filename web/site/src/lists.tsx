import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { useMemo } from "preact/hooks";
import { type ArticleOrder, Articles, GroupArticles, type PageFragment, UserArticles } from "./gql";
import { ArticleList, type Source } from "./list";
import { usePage, useTitle } from "./page";
import { paths } from "./router";
import { signOut } from "./session";
import { Empty } from "./states";

/** A source of articles: a query, and where its result has the page of articles. */
export function source<Data, Variables extends { after?: string | null }>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, "after">,
  read: (data: Data) => PageFragment | null | undefined,
  rest: Omit<Source, "query" | "variables" | "read">,
): Source {
  return { query, variables, read: read as Source["read"], ...rest };
}

export function HomePage({ order }: { order: ArticleOrder }) {
  const title = order === "TIME" ? "New articles" : "Front page";
  useTitle(order === "TIME" ? title : "");
  const list = useMemo(
    () =>
      source(Articles, { order }, (data) => data.articlesConnection, {
        ranked: order === "SCORE",
        posted: {},
      }),
    [order],
  );
  return (
    <>
      <h1 class="unseen">{title}</h1>
      <ArticleList source={list} empty={<Welcome />} />
    </>
  );
}

export function GroupPage({ name, order }: { name: string; order: ArticleOrder }) {
  useTitle(name);
  const list = useMemo(
    () =>
      source(GroupArticles, { name, order }, (data) => data.group?.articlesConnection, {
        ranked: order === "SCORE",
        posted: name === "interesting" ? undefined : { group: name },
      }),
    [name, order],
  );
  const tab = (of: ArticleOrder, text: string) => (
    <a href={paths.list(of, name)} aria-current={order === of ? "page" : undefined}>
      {text}
    </a>
  );
  return (
    <>
      <header class="heading">
        <h1 dir="auto">{name}</h1>
        <nav aria-label="Order">
          {tab("SCORE", "Hot")}
          {tab("TIME", "New")}
        </nav>
      </header>
      <ArticleList
        source={list}
        empty={
          name === "interesting" ? (
            <Empty title="No interesting articles yet">
              <p>Articles appear here once they have enough votes.</p>
            </Empty>
          ) : (
            <Empty title="No articles yet">
              <p>
                <a href={`/submit?${new URLSearchParams({ group: name })}`}>Submit the first article</a> in{" "}
                {name}.
              </p>
            </Empty>
          )
        }
      />
    </>
  );
}

export function UserPage({ name }: { name: string }) {
  useTitle(name);
  const { site, viewer, refresh, say } = usePage();
  const leave = () => {
    signOut();
    refresh();
    say("You have signed out.");
  };
  const list = useMemo(
    () => source(UserArticles, { name }, (data) => data.user?.articlesConnection, { ranked: false }),
    [name],
  );
  return (
    <>
      <header class="heading">
        <h1 dir="auto">{name}</h1>
        <p>{viewer === name ? "Your articles" : "Articles by this user"}, newest first.</p>
        {viewer === name && <a href="/votes">Your votes</a>}
        {viewer === name && site?.signIn !== "PROXY" && (
          <button type="button" class="quiet" onClick={leave}>
            Sign out
          </button>
        )}
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title="No articles yet">
            {viewer === name && (
              <p>
                <a href="/submit">Submit an article</a>.
              </p>
            )}
          </Empty>
        }
      />
    </>
  );
}

/** The front page of a site without articles: what to do next. */
function Welcome() {
  const { site } = usePage();
  const submit = <a href="/submit">Submit the first article</a>;
  // Only in development mode the visitor is the operator.
  if (site?.signIn !== "NAME")
    return (
      <Empty title="Welcome">
        <p>There are no articles yet. {submit}.</p>
      </Empty>
    );
  return (
    <Empty title="Welcome to your front page">
      <p>The server is running and has no articles yet. Next steps:</p>
      <ul>
        <li>{submit}. Open a second window to see votes arrive live.</li>
        <li>
          Restart the server with <code>go run . --demo</code> to fill it with sample articles.
        </li>
        <li>
          Import your own articles: <code>go run . import articles.csv</code>
        </li>
        {site?.explorer && (
          <li>
            <a href="/graphiql">Explore the API</a> behind this page.
          </li>
        )}
      </ul>
    </Empty>
  );
}
