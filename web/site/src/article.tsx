import { useQuery, useSubscription } from "@urql/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Article, ArticleChanged, type ArticleQuery, type RowFragment } from "./gql";
import { useLater } from "./load";
import { changed, useSend } from "./mutations";
import { useNow, usePage, useTitle } from "./page";
import { explainError, sentence } from "./problem";
import { isHere, navigate, useScroll, useVisit } from "./router";
import { Facts } from "./row";
import { Empty, Failed, Skeleton } from "./states";
import { host, links } from "./text";
import { closing, left } from "./time";
import { Votes } from "./vote";
import { Why } from "./why";

export function ArticlePage({ id }: { id: string }) {
  const { connections } = usePage();
  const { later } = useLater();
  const [{ data, error, fetching }, execute] = useQuery({
    query: Article,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const retry = () => execute({ requestPolicy: "network-only" });
  const seen = useRef<number>(undefined);
  const article = data?.article;
  const now = useNow(article ? [closing(article)] : []);
  useSubscription({ query: ArticleChanged, variables: { ids: [id] }, pause: !article });
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
  useTitle(data && (!article || article.deletedAt) ? "Article not found" : (article?.title ?? ""));
  useScroll(article !== undefined);

  if (!article && (!data || error))
    return error ? <Failed level={1} error={error} retry={retry} /> : <Skeleton rows={2} />;
  if (!article || article.deletedAt) {
    if (fetching) return <Skeleton rows={2} />;
    return (
      <Empty level={1} title={article ? "This article has been deleted" : "Article not found"}>
        <p>
          <a href="/">Go to the front page</a>
        </p>
      </Empty>
    );
  }
  return (
    <article class="article" data-id={article.id}>
      <Votes article={article} now={now} />
      <div class="what">
        <h1 dir="auto">
          {article.link ? (
            <a rel="ugc" href={article.link}>
              {article.title}
            </a>
          ) : (
            article.title
          )}
        </h1>
        {article.link && (
          <p class="host" dir="auto">
            {host(article.link)}
          </p>
        )}
        <Facts article={article} now={now} />
        {article.text && <Text text={article.text} />}
        <section aria-labelledby="why">
          <h2 id="why">Why this article ranks here</h2>
          <Why article={article} now={now} />
          {later && <later.Standing article={article} now={now} />}
        </section>
        <Edit data={data} now={now} />
        {article.viewerCanDelete && <DeleteButton article={article} />}
      </div>
    </article>
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

/** Changes title and text, as long as the viewer may. */
function Edit({ data: { article, site, viewer }, now }: { data: ArticleQuery; now: number }) {
  const { say } = usePage();
  const { send, sending } = useSend("Edit");
  const details = useRef<HTMLDetailsElement>(null);
  const [draft, setDraft] = useState<{ title: string; text: string; ifRevision: number }>();
  const [problem, setProblem] = useState("");
  if (!article?.viewerCanEdit) return null;
  const { id, title, text, revision } = article;
  const titleEnd = Date.parse(article.createdAt) + (site.rules.editWindow + 1) * 1000;
  const textEnd = Math.max(titleEnd, closing(article));
  const always = viewer?.isModerator;
  if (!always && now >= textEnd) return null;
  const withTitle = always || now < titleEnd;

  const bind = (name: "title" | "text") => ({
    id: name,
    value: draft?.[name],
    onInput: (event: Event) =>
      draft && setDraft({ ...draft, [name]: (event.currentTarget as HTMLInputElement).value }),
    "aria-describedby": "left problem",
  });
  const save = async (event: Event) => {
    event.preventDefault();
    if (sending || !draft) return;
    const { data, error } = await send({ article: id, ...draft, title: withTitle ? draft.title : null });
    const refused = data?.editArticle?.userErrors[0];
    setProblem(refused ? sentence(refused.message) : "");
    // After a conflict the page shows the other version. Saving again replaces that one.
    const current = data?.editArticle?.article;
    if (refused && current) setDraft({ ...draft, ifRevision: current.revision });
    if (error) say(`${explainError(error)} The article may not have been changed.`);
    if (!data || refused) return;
    say(changed.Edit);
    details.current?.querySelector("summary")?.focus();
    if (details.current) details.current.open = false;
  };
  return (
    <details
      ref={details}
      onToggle={({ currentTarget: { open } }) => {
        setDraft(open ? { title, text: text ?? "", ifRevision: revision } : undefined);
        setProblem("");
      }}
    >
      <summary>Edit this article</summary>
      {draft && (
        <form class="form" onSubmit={save}>
          {!always && (
            <p id="left" class="about">
              {withTitle && `${left(titleEnd, now)} left to change the title, `}
              {left(textEnd, now)} left to change the text.
            </p>
          )}
          {withTitle && (
            <div>
              <label for="title">Title</label>
              <input {...bind("title")} autocomplete="off" />
            </div>
          )}
          <div>
            <label for="text">Text</label>
            <textarea {...bind("text")} rows={6} />
          </div>
          <p id="problem" class="error" role="alert">
            {problem}
          </p>
          <button class="button" type="submit" aria-disabled={sending}>
            Save
          </button>
        </form>
      )}
    </details>
  );
}

function DeleteButton({ article: { id, poster } }: { article: RowFragment }) {
  const { viewer, say } = usePage();
  const reason = useRef<HTMLInputElement>(null);
  const visit = useVisit();
  const { send, sending } = useSend("Delete");
  const confirm = async () => {
    if (sending) return;
    const { data, error } = await send({ article: id, reason: reason.current?.value.trim() || null });
    const refused = data?.deleteArticle?.userErrors[0];
    if (refused) return say(`The article was not deleted: ${refused.message}.`);
    if (error) return say(`${explainError(error)} The article may not have been deleted.`);
    if (!data) return;
    say(changed.Delete);
    if (isHere(visit)) navigate("/", "replace");
  };
  return (
    <details>
      <summary>Delete this article</summary>
      <p>It will disappear from all lists.</p>
      {viewer !== poster.name && (
        <p class="form">
          <label for="reason">Reason, for the moderation log</label>
          <input id="reason" ref={reason} maxLength={500} autocomplete="off" />
        </p>
      )}
      <button type="button" class="button" aria-disabled={sending} onClick={confirm}>
        Delete permanently
      </button>
    </details>
  );
}
