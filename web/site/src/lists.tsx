import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { useMemo } from "preact/hooks";
import { type ArticleOrder, Articles, GroupArticles, type PageFragment, UserArticles } from "./gql";
import { ArticleList, type Source } from "./list";
import { usePage, useTitle } from "./page";
import { paths } from "./router";
import { signOut } from "./session";
import { site } from "./site";
import { Empty } from "./states";

/** A list by what asks for it, and where in the answer it is. */
function source<Data, Variables extends { after?: string | null }>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, "after">,
  read: (data: Data) => PageFragment | undefined,
  rest: Pick<Source, "ranked" | "posted">,
): Source {
  return { query, variables, read: read as Source["read"], ...rest };
}

export function HomePage({ order }: { order: ArticleOrder }) {
  const title = order === "TIME" ? "New articles" : "Top articles";
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
          {tab("SCORE", "Top")}
          {tab("TIME", "New")}
        </nav>
      </header>
      <ArticleList
        source={list}
        empty={
          name === "interesting" ? (
            <Empty title="Nothing is interesting yet">
              <p>Articles come here by themselves when enough people have voted for them.</p>
            </Empty>
          ) : (
            <Empty title="Nothing is here yet">
              <p>
                Nobody has put an article into {name}.{" "}
                <a href={`/submit?${new URLSearchParams({ group: name })}`}>Be the first</a>.
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
  const { viewer, refresh, say } = usePage();
  const leave = () => {
    signOut();
    refresh();
    say("You are signed out.");
  };
  const list = useMemo(
    () => source(UserArticles, { name }, (data) => data.user?.articlesConnection, { ranked: false }),
    [name],
  );
  return (
    <>
      <header class="heading">
        <h1 dir="auto">{name}</h1>
        <p>What {viewer === name ? "you have" : "they have"} posted, newest first.</p>
        {viewer === name && site.signIn !== "proxy" && (
          <button type="button" class="quiet" onClick={leave}>
            Sign out
          </button>
        )}
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title="Nothing was posted yet">
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

/** The first minute of a new site. */
function Welcome() {
  return (
    <Empty title="Welcome to your front page">
      <p>It runs, and it is empty. What next?</p>
      <ul>
        <li>
          <a href="/submit">Submit the first article</a>, and open a second window to watch it being voted on.
        </li>
        <li>
          Stop the server and start it by <code>go run . --demo</code>, which fills it with some articles to
          look at.
        </li>
        <li>
          Bring articles of your own: <code>go run . import articles.csv</code>
        </li>
        {site.explorer && (
          <li>
            <a href="/graphiql">Explore the API</a> that this page is made from.
          </li>
        )}
      </ul>
    </Empty>
  );
}
