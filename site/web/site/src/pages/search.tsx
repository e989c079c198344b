import { useMemo } from "preact/hooks";
import { Search } from "../data/later-gql";
import { useTitle } from "../ui/hooks";
import { navigate, useVisit } from "../ui/router";
import { Empty } from "../ui/states";
import { counted, fill, texts } from "../ui/strings";
import { ArticleList } from "./list";
import { source, useListed } from "./lists";

/** The articles that a query finds, and the field for it. */
export function SearchPage() {
  useTitle(texts.search);
  const text = new URLSearchParams(useVisit().search).get("q")?.trim() ?? "";
  return (
    <>
      <header class="heading">
        <h1>{texts.search}</h1>
        <p>{texts.aboutSearch}</p>
      </header>
      <search>
        <form
          class="find"
          action="/search"
          onSubmit={(event) => {
            event.preventDefault();
            const wanted = String(new FormData(event.currentTarget).get("q")).trim();
            if (wanted) navigate(path(wanted));
          }}
        >
          <label for="find">{texts.findArticles}</label>
          <input id="find" type="search" name="q" defaultValue={text} maxLength={200} autocomplete="off" />
        </form>
      </search>
      {text && <Results text={text} />}
    </>
  );
}

const path = (text: string) => `/search?${new URLSearchParams({ q: text })}`;

function Results({ text }: { text: string }) {
  const list = useMemo(() => source(Search, { text }, (data) => data.search, {}), [text]);
  const found = useListed(Search, { text })?.search;
  return (
    <>
      <p class="about" role="status">
        {found && found.totalCount > 0 && (
          <>
            {counted(found.totalCount, texts.articles)}
            {found.isPartial && ` · ${texts.onlyNewest}`}
            {found.suggestion && (
              <>
                {` · ${texts.foundAs} `}
                <a dir="auto" href={path(found.suggestion)}>
                  {found.suggestion}
                </a>
              </>
            )}
          </>
        )}
      </p>
      <ArticleList source={list} empty={<Empty title={fill(texts.nothingFound, { text })} />} />
    </>
  );
}
