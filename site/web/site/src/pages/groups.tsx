import { useQuery } from "@urql/preact";
import { useState } from "preact/hooks";
import { Groups } from "../data/later-gql";
import { useSettled, useTitle } from "../ui/hooks";
import { navigate, paths, useScroll, useVisit } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { counted, fill, filled, texts } from "../ui/strings";
import { Failed } from "./failed";

export function GroupsPage() {
  useTitle(texts.groups);
  const asked = new URLSearchParams(useVisit().search);
  const [text, setText] = useState(asked.get("contains") ?? "");
  const contains = useSettled(text.trim());
  return (
    <>
      <header class="heading">
        <h1>{texts.groups}</h1>
        <p>{texts.aboutGroupList}</p>
      </header>
      <search>
        <form
          class="find"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim()) navigate(paths.list("SCORE", text.trim().toLowerCase()));
          }}
        >
          <label for="find">{texts.findGroup}</label>
          <input
            id="find"
            type="search"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
          />
        </form>
      </search>
      <Part
        key={contains}
        contains={contains}
        after={(contains === (asked.get("contains") ?? "") && asked.get("after")) || undefined}
      />
    </>
  );
}

/** Up to 100 groups, and the next ones on request. */
function Part({ contains, after }: { contains: string; after?: string }) {
  const [more, setMore] = useState(false);
  const { first } = useVisit();
  const [{ data, error }, execute] = useQuery({
    query: Groups,
    variables: { contains, after },
    requestPolicy: first ? "cache-first" : "cache-and-network",
  });
  const page = data?.groups;
  useScroll(page != null && !after);
  if (!page) {
    return error ? (
      <Failed error={error} retry={() => execute({ requestPolicy: "network-only" })} />
    ) : (
      <Skeleton rows={4} />
    );
  }
  const { nodes, pageInfo } = page;
  if (nodes.length === 0 && !after) {
    return contains ? (
      <p role="status">{fill(texts.noGroupWith, { text: contains })}</p>
    ) : (
      <Empty title={texts.noGroups}>
        <p>{filled(texts.createGroup, { link: <a href="/submit">{texts.submitOneLink}</a> })}</p>
      </Empty>
    );
  }
  return (
    <>
      <ul class="groups">
        {nodes.map((group) => (
          <li key={group.id}>
            <a href={paths.list("SCORE", group.name)}>
              <strong dir="auto">{group.name}</strong>{" "}
              <span>{counted(group.articleCount, texts.articles)}</span>
            </a>
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage &&
        (more ? (
          <Part contains={contains} after={pageInfo.endCursor ?? undefined} />
        ) : (
          <button type="button" class="more" onClick={() => setMore(true)}>
            {texts.moreGroupList}
          </button>
        ))}
    </>
  );
}
