import { useClient } from "@urql/preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { Search } from "../data/later-gql";
import { useTitle } from "../ui/hooks";
import { latest } from "../ui/latest";
import { navigate, useVisit } from "../ui/router";
import { Empty } from "../ui/states";
import { counted, fill, texts } from "../ui/strings";
import { ArticleList } from "./list";
import { source, useListed } from "./lists";

const pause = 200; // milliseconds without a key until the site is asked
const shortest = 2; // characters that are searched for while they are typed: below, only Enter does

/**
 * The articles that a query finds, and the field for it, which stays while its results change. While one types, the
 * results stay until the next ones are there. The back button leads to what was searched for before one began to type,
 * not through each word.
 */
export function SearchPage() {
  useTitle(texts.search);
  const client = useClient();
  const visit = useVisit();
  const shown = new URLSearchParams(visit.search).get("q")?.trim() ?? "";
  const [text, setText] = useState(shown);
  const [run] = useState(latest);
  const [made] = useState({ key: "", isTyped: false }); // the last visit that the field made; more typing replaces a typed one

  useLayoutEffect(() => {
    run();
    if (visit.key !== made.key) setText(shown);
    return run;
  }, [visit.key]);

  const show = (wanted: string, isTyped: boolean) => {
    run(); // the list takes the answer from here
    const replaces = !shown || (made.isTyped && made.key === visit.key);
    navigate(path(wanted), replaces ? "replace" : "push");
    Object.assign(made, { key: history.state.key, isTyped });
  };
  const find = (wanted: string, isTyped: boolean) => {
    run();
    if (wanted === shown) {
      made.isTyped &&= isTyped;
    } else if (!wanted) {
      show("", isTyped);
    } else if (!isTyped || wanted.length >= shortest) {
      const read = () =>
        client
          .query(Search, { text: wanted, after: null }, { requestPolicy: "network-only" })
          .subscribe(() => show(wanted, isTyped)).unsubscribe;
      run(read, isTyped ? pause : 0);
    }
  };
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
            find(text.trim(), false);
          }}
        >
          <label for="find">{texts.findArticles}</label>
          <input
            id="find"
            type="search"
            name="q"
            value={text}
            maxLength={200}
            autocomplete="off"
            onInput={({ currentTarget: { value } }) => {
              setText(value);
              find(value.trim(), true);
            }}
          />
        </form>
      </search>
      <Results text={shown} isRead={visit.key === made.key} />
    </>
  );
}

const path = (text: string) => `/search${text && `?${new URLSearchParams({ q: text })}`}`;

function Results({ text, isRead }: { text: string; isRead: boolean }) {
  const { key } = useVisit();
  const list = useMemo(() => source(Search, { text }, (data) => data.search, { isRead }), [key]);
  const found = useListed(Search, { text })?.search;
  return (
    <>
      <p class="about found" role="status">
        {found && (
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
      {text && (
        <ArticleList key={key} source={list} empty={<Empty title={fill(texts.nothingFound, { text })} />} />
      )}
    </>
  );
}
