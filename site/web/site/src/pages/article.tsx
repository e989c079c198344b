import { useClient, useQuery } from "@urql/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { gone } from "../data/client";
import { Article, type ArticleQuery } from "../data/gql";
import { save } from "../data/keep";
import { useLive } from "../data/live";
import { usePage } from "../data/page";
import { useNow, useTitle } from "../ui/hooks";
import { paths, useScroll, useVisit } from "../ui/router";
import { share } from "../ui/share";
import { Empty, Skeleton } from "../ui/states";
import { fill, filled, texts } from "../ui/strings";
import { host, links } from "../ui/text";
import { ago, closing, timeLeft } from "../ui/time";
import { Beside } from "./beside";
import { Delete, Edit, editEnds } from "./edit";
import { Failed } from "./failed";
import { Neighbours } from "./neighbours";
import { Deleted, Removed } from "./removed";
import { Groups, Posted } from "./row";
import { Standing } from "./standing";
import { Report } from "./third";
import { Votes } from "./vote";

// Package pages renders the same on the server. Its tests compare them.

/** What opens below the actions of an article. */
const forms = { edit: Edit, delete: Delete, report: Report };
type Form = keyof typeof forms;

export function ArticlePage({ id }: { id: string }) {
  const { connections } = usePage();
  const visit = useVisit();
  const [{ data, error, fetching }, execute] = useQuery({
    query: Article,
    variables: { id },
    requestPolicy: visit.first ? "cache-first" : "cache-and-network",
  });
  const retry = () => execute({ requestPolicy: "network-only" });
  const seen = useRef<number>(undefined);
  const article = data?.article;
  const now = useNow(article ? [closing(article)] : []);
  useLive(article ? [article] : [], true);
  useEffect(() => {
    if (!article) return;
    seen.current ??= connections;
    if (seen.current !== connections) retry();
    seen.current = connections;
  }, [connections, article?.id]);
  // The event of an edit has no text.
  const edited = useRef<string | null>(undefined);
  useEffect(() => {
    if (edited.current !== undefined && edited.current !== article?.editedAt) retry();
    edited.current = article?.editedAt;
  }, [article?.editedAt]);
  const said = visit.first && gone;
  const missing = article || said ? texts.articleDeleted : texts.articleMissing;
  useTitle(data && (!article || article.deletedAt) ? missing : (article?.title ?? ""));
  useScroll(article !== undefined);

  if (!article && (!data || error))
    return error ? <Failed level={1} error={error} retry={retry} /> : <Skeleton rows={2} />;
  if (!article || article.deletedAt) {
    if (fetching) return <Skeleton rows={2} />;
    return (
      <Empty level={1} title={missing}>
        {said && <p>{said}</p>}
        {article && <Deleted article={article} />}
        <p>
          <a href="/">{texts.toFrontPage}</a>
        </p>
      </Empty>
    );
  }
  return (
    <article class="article" data-id={article.id}>
      <div class="body">
        <p class="facts">
          {article.isInteresting && (
            <a class="group star" href="/g/interesting">
              <span>{texts.isInteresting}</span>
            </a>
          )}
          <Groups groups={article.groups} />
        </p>
        <h1 dir="auto">{article.title}</h1>
        {article.link && (
          <p class="source">
            <a dir="auto" rel="ugc" href={article.link}>
              <strong>{host(article.link)}</strong> {path(article.link)}
            </a>
          </p>
        )}
        <p class="facts">
          <Posted article={article} now={now} />
          {article.editedAt && (
            <span>{fill(texts.edited, { time: ago(Date.parse(article.editedAt), now) })}</span>
          )}
          <span>{timeLeft(closing(article), now)}</span>
        </p>
        <Removed article={article} />
        <Actions data={data} now={now} />
        {article.text && <Text text={article.text} />}
      </div>
      <aside>
        <Standing article={article} now={now} />
        {article.host && (
          <Beside
            heading={filled(texts.alsoFrom, {
              host: (
                <a dir="auto" href={paths.host(article.host.name)}>
                  {article.host.name}
                </a>
              ),
            })}
            articles={article.host.articlesConnection.nodes}
            except={[article.id]}
            now={now}
            from
          />
        )}
        <Neighbours article={article} now={now} />
      </aside>
    </article>
  );
}

/** What follows the host in a link. */
function path(link: string): string {
  const { pathname, search } = new URL(link);
  return pathname === "/" && !search ? "" : decoded(pathname + search);
}

function decoded(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/** What a visitor can do with an article. */
function Actions({ data, now }: { data: ArticleQuery; now: number }) {
  const { viewer, tools, say } = usePage();
  const client = useClient();
  const [open, setOpen] = useState<Form>();
  const article = data.article as NonNullable<ArticleQuery["article"]>;
  const edits = article.viewerCanEdit && (data.viewer?.isModerator || now < editEnds(data)[1]);
  const Opened = open && (open !== "edit" || edits) ? forms[open] : undefined;
  const done = () => {
    setOpen(undefined);
    document.querySelector<HTMLElement>(".actions .open")?.focus();
  };
  const choose = (act: () => void) => () => {
    document.getElementById("acts")?.hidePopover();
    act();
  };
  const opener = (form: Form) => (
    <button type="button" onClick={choose(() => setOpen(open === form ? undefined : form))}>
      {texts[form]}
    </button>
  );
  const others = viewer && viewer !== article.poster.name;
  return (
    <>
      <div class="actions">
        <Votes article={article} now={now} />
        <button type="button" onClick={() => share(article.title, say, paths.article(article.number))}>
          {texts.share}
        </button>
        {viewer && (
          <button
            type="button"
            aria-pressed={article.viewerHasSaved === true}
            onClick={() => save(client, say, article.id, !article.viewerHasSaved)}
          >
            {article.viewerHasSaved ? texts.hasSaved : texts.saveIt}
          </button>
        )}
        {(edits || article.viewerCanDelete || others) && (
          <>
            <button type="button" class="open" popovertarget="acts" aria-label={texts.more}>
              …
            </button>
            <div id="acts" class="menu" popover="auto">
              {edits && opener("edit")}
              {article.viewerCanDelete && opener("delete")}
              {others && opener("report")}
              {tools && (
                <>
                  <button type="button" onClick={choose(() => tools.open(article, "groups"))}>
                    {texts.toGroups}
                  </button>
                  <button type="button" onClick={choose(() => tools.open(article, "author"))}>
                    {texts.toAuthor}
                  </button>
                </>
              )}
            </div>
          </>
        )}
      </div>
      {Opened && <Opened {...{ data, article, now, done }} />}
    </>
  );
}

/** Plain text with clickable web links. */
function Text({ text }: { text: string }) {
  return (
    <div class="text" dir="auto">
      {links(text).map((part, i) =>
        i % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a link may occur twice in a text, and the text does not change
          <a key={i} href={part} rel="nofollow ugc">
            {part}
          </a>
        ) : (
          part
        ),
      )}
    </div>
  );
}
