import { useMemo } from "preact/hooks";
import { askToSignIn } from "./asking";
import { Votes } from "./later-gql";
import { ArticleList } from "./list";
import { source } from "./lists";
import { usePage, useTitle } from "./page";
import { directions } from "./router";
import { Empty, Skeleton } from "./states";
import { fill, filled, texts } from "./strings";
import { ago } from "./time";

type Direction = (typeof directions)[number];

const titles = { UP: texts.up, DOWN: texts.down };

/** What the viewer voted on, the latest vote first. */
export function VotesPage({ direction }: { direction?: Direction }) {
  useTitle(texts.votesOfViewer);
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
          note: (article, now) =>
            fill(texts.youVoted, {
              time: ago(Date.parse((article as unknown as { votedAt: string }).votedAt), now),
            }),
        },
      ),
    [direction],
  );
  if (!site) return <Skeleton />;
  if (!viewer)
    return (
      <Empty level={1} title={texts.votesOfViewer}>
        <p>
          {filled(texts.votesPrivate, {
            link: (
              <a href="/signin" onClick={(event) => askToSignIn(site, event)}>
                {texts.signInLink}
              </a>
            ),
          })}
        </p>
      </Empty>
    );
  return (
    <>
      <header class="heading">
        <h1>{texts.votesOfViewer}</h1>
        <nav aria-label={texts.direction}>
          {[undefined, ...directions].map((each) => (
            <a
              key={each}
              href={each ? `/votes/${each.toLowerCase()}` : "/votes"}
              aria-current={each === direction ? "page" : undefined}
            >
              {each ? titles[each] : texts.all}
            </a>
          ))}
        </nav>
        <p>{texts.aboutVotes}</p>
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title={texts.noVotes}>
            <p>
              {texts.votesAppear} <a href="/">{texts.toFrontPage}</a>
            </p>
          </Empty>
        }
      />
    </>
  );
}
