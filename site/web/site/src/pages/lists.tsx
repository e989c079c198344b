import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { useQuery } from "@urql/preact";
import { useMemo } from "preact/hooks";
import {
  type ArticleOrder,
  Articles,
  GroupArticles,
  type PageFragment,
  type RowFragment,
  UserArticles,
} from "../data/gql";
import { usePage } from "../data/page";
import { useTitle } from "../ui/hooks";
import { has } from "../ui/router";
import { Empty } from "../ui/states";
import { counted, fill, filled, texts } from "../ui/strings";
import { ago } from "../ui/time";
import { FollowButton } from "./following";
import { GroupHeader } from "./group";
import { ArticleList, type Source } from "./list";

/** A source of articles: a query, and where its result has the page of articles. */
export function source<Data, Variables extends { after?: string | null }>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, "after">,
  read: (data: Data) => PageFragment | null | undefined,
  rest: Omit<Source, "query" | "variables" | "read">,
): Source {
  return { query, variables, read: read as Source["read"], ...rest };
}

interface Dated {
  edges: { at: string; node?: RowFragment | null }[];
  pageInfo: PageFragment["pageInfo"];
}

/** A source whose edges say when: each row says it, too, by a text with `{time}`. */
export function dated<Data, Variables extends { after?: string | null }>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, "after">,
  read: (data: Data) => Dated | null | undefined,
  text: string,
): Source {
  return source(
    query,
    variables,
    (data) => {
      const page = read(data);
      return (
        page && {
          ...page,
          nodes: page.edges.flatMap(({ node, at }) => (node ? { ...node, at } : [])),
          totalCount: 0,
        }
      );
    },
    {
      note: (article, now) =>
        fill(text, { time: ago(Date.parse((article as RowFragment & { at: string }).at), now) }),
    },
  );
}

/** What the answer to the first query of a list says besides its articles. The list asks for it. */
export function useListed<Data, Variables extends { after?: string | null }>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, "after">,
): Data | undefined {
  const first = { ...variables, after: null } as unknown as Variables;
  return useQuery({ query, variables: first, requestPolicy: "cache-only" })[0].data;
}

export function HomePage({ order }: { order: ArticleOrder }) {
  const title = order === "TIME" ? texts.newArticles : texts.frontPage;
  useTitle(order === "TIME" ? title : "");
  const list = useMemo(
    () =>
      source(Articles, { order }, (data) => data.articlesConnection, {
        ranked: order === "SCORE" ? "score" : undefined,
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
        ranked: order === "SCORE" ? "score" : undefined,
        posted: name === "interesting" ? undefined : { group: name },
        group: name,
      }),
    [name, order],
  );
  const data = useListed(GroupArticles, { name, order });
  return (
    <>
      <GroupHeader
        {...{ name, group: data?.group, count: data?.group?.articlesConnection.totalCount }}
        shown={order === "SCORE" ? "hot" : "new"}
      />
      <ArticleList
        source={list}
        empty={
          name === "interesting" ? (
            <Empty title={texts.noInteresting}>
              <p>{texts.aboutInteresting}</p>
            </Empty>
          ) : (
            <Empty title={texts.noArticles}>
              <p>
                {filled(texts.submitFirstIn, {
                  link: <a href={`/submit?${new URLSearchParams({ group: name })}`}>{texts.submitFirst}</a>,
                  group: <bdi>{name}</bdi>,
                })}
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
  const { viewer } = usePage();
  const list = useMemo(
    () => source(UserArticles, { name }, (data) => data.user?.articlesConnection, {}),
    [name],
  );
  const data = useListed(UserArticles, { name });
  const count = data?.user?.articlesConnection.totalCount;
  const first = data?.user?.earliest.nodes[0]?.createdAt;
  return (
    <>
      <header class="heading">
        <h1 dir="auto">{name}</h1>
        {viewer !== name && data?.user && (
          <FollowButton id={data.user.id} follows={data.user.viewerFollows} />
        )}
        {viewer === name && has("/votes") && <a href="/votes">{texts.votesOfViewer}</a>}
        <p class="known">
          {count ? counted(count, texts.userArticles) : ""}{" "}
          {first &&
            fill(texts.firstPost, {
              date: new Date(first).toLocaleDateString(texts.locale, { dateStyle: "long" }),
            })}
        </p>
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title={texts.noArticles}>
            {viewer === name && (
              <p>
                <a href="/submit">{texts.submitOne}</a>
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
  const link = <a href="/submit">{texts.submitFirst}</a>;
  // Only in development mode the visitor is the operator.
  if (site?.signIn !== "NAME")
    return (
      <Empty title={texts.welcome}>
        <p>{filled(texts.noArticlesHere, { link })}</p>
      </Empty>
    );
  return (
    <Empty title={texts.welcomeOperator}>
      <p>{texts.nextSteps}</p>
      <ul>
        <li>{filled(texts.stepSubmit, { link })}</li>
        <li>{filled(texts.stepDemo, { command: <code>--demo-articles</code> })}</li>
        <li>{filled(texts.stepImport, { command: <code>import articles.csv</code> })}</li>
        {site?.explorer && (
          <li>{filled(texts.stepExplore, { link: <a href="/graphiql">{texts.exploreAPI}</a> })}</li>
        )}
      </ul>
    </Empty>
  );
}
