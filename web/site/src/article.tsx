import { useMutation, useQuery, useSubscription } from "@urql/preact";
import { useEffect, useState } from "preact/hooks";
import { inTurn } from "./client";
import { Article, ArticleChanged, Delete } from "./gql";
import { useNow, usePage, useTitle } from "./page";
import { explainError } from "./problem";
import { navigate, useScroll } from "./router";
import { Facts } from "./row";
import { Empty, Failed, Skeleton } from "./states";
import { host, links } from "./text";
import { Votes } from "./vote";
import { Why } from "./why";

export function ArticlePage({ id }: { id: string }) {
  const now = useNow();
  const { viewer, connections } = usePage();
  const [{ data, error, fetching }, execute] = useQuery({
    query: Article,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const again = () => execute({ requestPolicy: "network-only" });
  const [known] = useState(connections);
  const article = data?.article;
  useSubscription({ query: ArticleChanged, variables: { ids: [id] }, pause: !article });
  useEffect(() => {
    if (connections !== known) again();
  }, [connections]);
  useTitle(article?.title ?? "");
  useScroll(article !== undefined);

  if (!data) return error ? <Failed error={error} again={again} /> : <Skeleton rows={2} />;
  if (!article || article.deletedAt) {
    if (fetching) return <Skeleton rows={2} />;
    return (
      <Empty title={article ? "This article has been deleted" : "There is no such article"}>
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
        <h1>{article.link ? <a href={article.link}>{article.title}</a> : article.title}</h1>
        {article.link && <p class="host">{host(article.link)}</p>}
        <Facts article={article} now={now} />
        {article.text && <Text text={article.text} />}
        <section aria-labelledby="why">
          <h2 id="why">Why it stands where it stands</h2>
          <Why article={article} now={now} />
        </section>
        {viewer === article.poster.name && <DeleteButton id={article.id} />}
      </div>
    </article>
  );
}

/** Plain text, in which web links can be followed. */
function Text({ text }: { text: string }) {
  return (
    <div class="text">
      {links(text).map((part, i) =>
        i % 2 === 1 ? (
          <a key={part} href={part} rel="nofollow ugc">
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
  const [asked, setAsked] = useState(false);
  const [{ fetching }, remove] = useMutation(Delete);
  const confirm = async () => {
    const { data, error } = await remove({ input: { article: id } }, { fetch: inTurn });
    const refused = data?.deleteArticle?.userErrors[0];
    if (refused || error)
      return say(refused ? `It was not deleted: ${refused.message}.` : explainError(error as never));
    say("Your article has been deleted.");
    navigate("/", "replace");
  };
  if (!asked) {
    return (
      <button type="button" class="quiet" onClick={() => setAsked(true)}>
        Delete this article
      </button>
    );
  }
  return (
    <p role="alert">
      Delete it for good?{" "}
      <button type="button" class="button" disabled={fetching} onClick={confirm}>
        Delete
      </button>{" "}
      <button type="button" class="quiet" onClick={() => setAsked(false)}>
        Keep it
      </button>
    </p>
  );
}
