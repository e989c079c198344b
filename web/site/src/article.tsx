import { useQuery, useSubscription } from "@urql/preact";
import { useEffect, useRef } from "preact/hooks";
import { Article, ArticleChanged } from "./gql";
import { useSend } from "./mutations";
import { useNow, usePage, useTitle } from "./page";
import { explainError } from "./problem";
import { isHere, navigate, useScroll, useVisit } from "./router";
import { Facts } from "./row";
import { Empty, Failed, Skeleton } from "./states";
import { host, links } from "./text";
import { closing } from "./time";
import { Votes } from "./vote";
import { Why } from "./why";

export function ArticlePage({ id }: { id: string }) {
  const { connections } = usePage();
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
        </section>
        {data?.article?.viewerCanDelete && <DeleteButton id={article.id} />}
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

function DeleteButton({ id }: { id: string }) {
  const { say } = usePage();
  const visit = useVisit();
  const { send, sending } = useSend("Delete");
  const confirm = async () => {
    if (sending) return;
    const { data, error } = await send({ article: id });
    const refused = data?.deleteArticle?.userErrors[0];
    if (refused) return say(`The article was not deleted: ${refused.message}.`);
    if (error) return say(`${explainError(error)} The article may not have been deleted.`);
    if (!data) return;
    say("The article has been deleted.");
    if (isHere(visit)) navigate("/", "replace");
  };
  return (
    <details>
      <summary>Delete this article</summary>
      <p>It will disappear from all lists.</p>
      <button type="button" class="button" aria-disabled={sending} onClick={confirm}>
        Delete permanently
      </button>
    </details>
  );
}
