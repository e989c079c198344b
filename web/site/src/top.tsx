import { useMemo } from "preact/hooks";
import { Top } from "./later-gql";
import { ArticleList } from "./list";
import { source } from "./lists";
import { useTitle } from "./page";
import { paths, type Span, spans } from "./router";
import { Empty } from "./states";

export const spanNames: Record<Span, [tab: string, long: string]> = {
  DAY: ["Day", "the last 24 hours"],
  WEEK: ["Week", "the last 7 days"],
  MONTH: ["Month", "the last 30 days"],
  YEAR: ["Year", "the last 365 days"],
  ALL: ["All time", "all time"],
};

/** The articles of a span, those with the most votes first. */
export function TopPage({ span }: { span: Span }) {
  const [, long] = spanNames[span];
  const title = `Top of ${long}`;
  useTitle(title);
  const list = useMemo(
    () => source(Top, { span }, (data) => data.ranking, { ranked: false, note: () => "" }),
    [span],
  );
  return (
    <>
      <header class="heading">
        <h1>{title}</h1>
        <nav aria-label="Span">
          {spans.map((each) => (
            <a key={each} href={paths.top(each)} aria-current={each === span ? "page" : undefined}>
              {spanNames[each][0]}
            </a>
          ))}
        </nav>
        <p>
          By votes, as of now. <a href={`/lab?${new URLSearchParams({ span })}`}>Rank them differently</a>
        </p>
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title="No articles yet">
            <p>
              None was posted in this time. <a href={paths.top("ALL")}>See those of all time</a>.
            </p>
          </Empty>
        }
      />
    </>
  );
}
