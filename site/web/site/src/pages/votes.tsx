import { useMemo } from "preact/hooks";
import { Votes } from "../data/later-gql";
import { useTitle } from "../ui/hooks";
import { directions } from "../ui/router";
import { Empty } from "../ui/states";
import { texts } from "../ui/strings";
import { ForViewer } from "./kept";
import { ArticleList } from "./list";
import { dated } from "./lists";

type Direction = (typeof directions)[number];

const titles = { UP: texts.up, DOWN: texts.down };

/** What the viewer voted on, the latest vote first. */
export function VotesPage({ direction }: { direction?: Direction }) {
  useTitle(texts.votesOfViewer);
  const list = useMemo(
    () => dated(Votes, { direction }, (data) => data.viewerVotes, texts.youVoted),
    [direction],
  );
  return (
    <ForViewer title={texts.votesOfViewer} says={texts.votesPrivate}>
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
    </ForViewer>
  );
}
