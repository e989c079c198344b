import { useMemo } from "preact/hooks";
import { askToSignIn } from "./frame";
import { Votes } from "./later-gql";
import { ArticleList } from "./list";
import { source } from "./lists";
import { usePage, useTitle } from "./page";
import { directions } from "./router";
import { Empty, Skeleton } from "./states";
import { ago } from "./time";

type Direction = (typeof directions)[number];

const titles = { UP: "Up", DOWN: "Down" };

/** What the viewer voted on, the latest vote first. */
export function VotesPage({ direction }: { direction?: Direction }) {
  useTitle("Your votes");
  const { site, viewer } = usePage();
  const list = useMemo(
    () =>
      source(
        Votes,
        { direction },
        ({ viewerVotes }) =>
          viewerVotes && {
            nodes: viewerVotes.edges.flatMap(({ node, at }) => (node ? [{ ...node, votedAt: at }] : [])),
            pageInfo: viewerVotes.pageInfo,
            totalCount: 0,
          },
        {
          ranked: false,
          unnumbered: true,
          note: (article, now) =>
            `you voted ${ago(Date.parse((article as unknown as { votedAt: string }).votedAt), now)}`,
        },
      ),
    [direction],
  );
  if (!site) return <Skeleton />;
  if (!viewer)
    return (
      <Empty level={1} title="Your votes">
        <p>
          Only you can see what you voted on:{" "}
          <a href="/signin" onClick={(event) => askToSignIn(site, event)}>
            sign in
          </a>
          .
        </p>
      </Empty>
    );
  return (
    <>
      <header class="heading">
        <h1>Your votes</h1>
        <nav aria-label="Direction">
          {[undefined, ...directions].map((each) => (
            <a
              key={each}
              href={each ? `/votes/${each.toLowerCase()}` : "/votes"}
              aria-current={each === direction ? "page" : undefined}
            >
              {each ? titles[each] : "All"}
            </a>
          ))}
        </nav>
        <p>The latest first. Only you can see them.</p>
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title="No votes yet">
            <p>
              Articles that you vote on appear here. <a href="/">Go to the front page</a>.
            </p>
          </Empty>
        }
      />
    </>
  );
}
