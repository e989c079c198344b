import { useMemo } from "preact/hooks";
import { Top } from "./later-gql";
import { ArticleList } from "./list";
import { source } from "./lists";
import { useTitle } from "./page";
import { type Span, spans } from "./router";
import { Empty } from "./states";
import { filled, texts } from "./strings";

const pathOf = (span: Span) => `/top/${span.toLowerCase()}`;

/** The articles of a span, those with the most votes first. */
export function TopPage({ span }: { span: Span }) {
  const title = texts.topOf[span];
  useTitle(title);
  const list = useMemo(
    () => source(Top, { span }, (data) => data.ranking, { ranked: false, note: () => "" }),
    [span],
  );
  return (
    <>
      <header class="heading">
        <h1>{title}</h1>
        <nav aria-label={texts.span}>
          {spans.map((each) => (
            <a key={each} href={pathOf(each)} aria-current={each === span ? "page" : undefined}>
              {texts.spans[each]}
            </a>
          ))}
        </nav>
        <p>
          {texts.byVotes} <a href={`/lab?${new URLSearchParams({ span })}`}>{texts.rankDifferently}</a>
        </p>
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title={texts.noArticles}>
            <p>{filled(texts.nonePosted, { link: <a href={pathOf("ALL")}>{texts.seeAllTime}</a> })}</p>
          </Empty>
        }
      />
    </>
  );
}
