import { useMemo } from "preact/hooks";
import { HostArticles } from "../data/later-gql";
import { useTitle } from "../ui/hooks";
import { Empty } from "../ui/states";
import { counted, texts } from "../ui/strings";
import { ArticleList } from "./list";
import { source, useListed } from "./lists";

/** The articles with links to a host, newest first. */
export function FromPage({ name }: { name: string }) {
  useTitle(name);
  const list = useMemo(
    () => source(HostArticles, { name }, (data) => data.host?.articlesConnection, {}),
    [name],
  );
  const count = useListed(HostArticles, { name })?.host?.articlesConnection.totalCount;
  return (
    <>
      <header class="heading">
        <h1 dir="auto">{name}</h1>
        <p>{count ? counted(count, texts.userArticles) : ""}</p>
      </header>
      <ArticleList source={list} empty={<Empty title={texts.noArticles} />} />
    </>
  );
}
