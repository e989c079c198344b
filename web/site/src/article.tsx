import { useQuery } from "@urql/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Beside } from "./beside";
import { gone } from "./client";
import { Article, type ArticleQuery } from "./gql";
import { useLive } from "./live";
import { useLater } from "./load";
import { useNow, usePage, useTitle } from "./page";
import { paths, useScroll, useVisit } from "./router";
import { Groups, Posted } from "./row";
import { Empty, Failed, Skeleton } from "./states";
import { fill, filled, texts } from "./strings";
import { host, links } from "./text";
import { ago, closing, editEnds, timeLeft } from "./time";
import { Votes } from "./vote";
import { Why } from "./why";

export function ArticlePage({ id }: { id: string }) {
  const { connections } = usePage();
  const { later } = useLater();
  const visit = useVisit();
  const [{ data, error, fetching }, execute] = useQuery({
    query: Article,
    variables: { id },
    requestPolicy: visit.first ? "cache-first" : "cache-and-network",
  });
  const retry = () => execute({ requestPolicy: "network-only" });
  const [explained, setExplained] = useState(false);
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
        {later && article && <later.Deleted article={article} />}
        <p>
          <a href="/">{texts.toFrontPage}</a>
        </p>
      </Empty>
    );
  }
  return (
    <article class="article" data-id={article.id}>
      {article.link ? (
        <a class="card" rel="ugc" href={article.link}>
          <h1 dir="auto">{article.title}</h1>
          <span dir="auto">
            <strong>{host(article.link)}</strong> {path(article.link)}
          </span>
        </a>
      ) : (
        <h1 dir="auto">{article.title}</h1>
      )}
      <p class="facts">
        <Posted article={article} now={now} />
        {article.editedAt && (
          <span>{fill(texts.edited, { time: ago(Date.parse(article.editedAt), now) })}</span>
        )}
        <span>{timeLeft(closing(article), now)}</span>
        <Groups article={article} groups={article.groups} />
      </p>
      {later && <later.Removed article={article} />}
      <Actions data={data} now={now} />
      {article.text && <Text text={article.text} />}
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
          except={article.id}
          now={now}
        />
      )}
      <details class="explained" onToggle={(event) => setExplained(event.currentTarget.open)}>
        <summary>{texts.whyRank}</summary>
        {explained && <Why article={article} now={now} />}
      </details>
      {later && (
        <later.Standing article={article} now={now}>
          <later.Neighbours article={article} now={now} />
        </later.Standing>
      )}
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
  const { viewer, say } = usePage();
  const { later } = useLater();
  const [open, setOpen] = useState<"edit" | "delete" | "report">();
  const article = data.article as NonNullable<ArticleQuery["article"]>;
  const edits = article.viewerCanEdit && (data.viewer?.isModerator || now < editEnds(data)[1]);
  const Form = open && (open !== "edit" || edits) && later?.forms[open];
  const done = () => {
    setOpen(undefined);
    document.querySelector<HTMLElement>(`.actions .${open}`)?.focus();
  };
  const opener = (what: "edit" | "delete" | "report") => (
    <button
      type="button"
      class={what}
      aria-expanded={open === what}
      onClick={() => setOpen(open === what ? undefined : what)}
    >
      {texts[what]}
    </button>
  );
  return (
    <>
      <div class="actions">
        <Votes article={article} now={now} />
        <button type="button" onClick={() => later?.share(article.title, say)}>
          {texts.share}
        </button>
        {edits && opener("edit")}
        {article.viewerCanDelete && opener("delete")}
        {viewer && viewer !== article.poster.name && opener("report")}
      </div>
      {Form && <Form {...{ data, article, now, done }} />}
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
