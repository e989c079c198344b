import { useQuery } from "@urql/preact";
import { useState } from "preact/hooks";
import { Groups } from "./later-gql";
import { useSettled, useTitle } from "./page";
import { navigate, paths, useScroll, useVisit } from "./router";
import { Empty, Failed, Skeleton } from "./states";
import { counted, fill, filled, texts } from "./strings";

export function GroupsPage() {
  useTitle(texts.groups);
  const asked = new URLSearchParams(useVisit().search);
  const [text, setText] = useState(asked.get("prefix") ?? "");
  const prefix = useSettled(text.trim());
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
        key={prefix}
        prefix={prefix}
        after={(prefix === (asked.get("prefix") ?? "") && asked.get("after")) || undefined}
      />
    </>
  );
}

/** Up to 100 groups, and the next ones on request. */
function Part({ prefix, after }: { prefix: string; after?: string }) {
  const [more, setMore] = useState(false);
  const { first } = useVisit();
  const [{ data, error }, execute] = useQuery({
    query: Groups,
    variables: { prefix, after },
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
    return prefix ? (
      <p role="status">{fill(texts.noGroupWith, { prefix })}</p>
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
          <Part prefix={prefix} after={pageInfo.endCursor ?? undefined} />
        ) : (
          <button type="button" class="more" onClick={() => setMore(true)}>
            {texts.moreGroupList}
          </button>
        ))}
    </>
  );
}
