import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { GroupTop, Top } from "../data/later-gql";
import { useTitle } from "../ui/hooks";
import { paths, type Span, spans } from "../ui/router";
import { Empty } from "../ui/states";
import { filled, texts } from "../ui/strings";
import { GroupHeader } from "./group";
import { ArticleList } from "./list";
import { source, useListed } from "./lists";

/** The articles of a span, those with the most votes first: of the site, or of a group. */
export function TopPage({ span, group }: { span: Span; group?: string }) {
  const title = texts.topOf[span];
  useTitle(group ?? title);
  const list = useMemo(() => {
    const rest = { ranked: "votes", note: () => "", group } as const;
    return group
      ? source(GroupTop, { name: group, span }, (data) => data.group?.ranking, rest)
      : source(Top, { span }, (data) => data.ranking, rest);
  }, [span, group]);
  const nav = (
    <nav aria-label={texts.span}>
      {spans.map((each) => (
        <a key={each} href={paths.top(each, group)} aria-current={each === span ? "page" : undefined}>
          {texts.spans[each]}
        </a>
      ))}
      {!group && <a href="/g/interesting">{texts.interesting}</a>}
    </nav>
  );
  return (
    <>
      {group ? (
        <OfGroup name={group} span={span}>
          {nav}
        </OfGroup>
      ) : (
        <header class="heading">
          <h1>{title}</h1>
          {nav}
          <p>
            {texts.byVotes} <a href={`/lab?${new URLSearchParams({ span })}`}>{texts.rankDifferently}</a>
          </p>
        </header>
      )}
      <ArticleList
        source={list}
        empty={
          <Empty title={texts.noArticles}>
            <p>
              {filled(texts.nonePosted, { link: <a href={paths.top("ALL", group)}>{texts.seeAllTime}</a> })}
            </p>
          </Empty>
        }
      />
    </>
  );
}

function OfGroup({ name, span, children }: { name: string; span: Span; children: ComponentChildren }) {
  const group = useListed(GroupTop, { name, span })?.group;
  return (
    <GroupHeader {...{ name, group, count: group?.ranking?.totalCount }} shown="top">
      {children}
    </GroupHeader>
  );
}
