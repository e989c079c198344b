import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { RowFragment } from "./gql";
import { paths } from "./router";
import { host } from "./text";
import { ago, closing, timeLeft } from "./time";
import { Votes } from "./vote";
import { Why } from "./why";

interface RowProps {
  article: RowFragment;
  now: number;
  rank?: number;
  above?: RowFragment;
  note?: string;
}

/**
 * An article in a list. `above` is the preceding article, in a list ordered by score. Other lists may have a `note`,
 * which can be empty, instead of the explanation of the score.
 */
export function Row({ article, now, rank, above, note }: RowProps) {
  const [explained, setExplained] = useState(false);
  const why = useId();
  if (article.deletedAt) {
    return (
      <li class="row gone" value={rank}>
        This article has been deleted.
      </li>
    );
  }
  return (
    <li class="row" value={rank} data-id={article.id}>
      <span class="rank" aria-hidden="true">
        {rank}
      </span>
      <Votes article={article} now={now} />
      <div class="what">
        <h2>
          <a class="title" dir="auto" rel="ugc" href={article.link ?? paths.article(article.number)}>
            {article.title}
          </a>{" "}
          {article.link && (
            <span class="host" dir="auto">
              {host(article.link)}
            </span>
          )}
        </h2>
        <Facts article={article} now={now}>
          {note === undefined ? (
            <button
              type="button"
              class="plain"
              aria-expanded={explained}
              aria-controls={why}
              aria-label={`Why here: ${article.title}`}
              onClick={() => setExplained(!explained)}
            >
              why here?
            </button>
          ) : (
            <span>{note}</span>
          )}
        </Facts>
        <div id={why}>{explained && <Why article={article} now={now} above={above} />}</div>
      </div>
    </li>
  );
}

/** The line below the title: time, poster, groups, and the time left to vote. */
export function Facts({
  article,
  now,
  children,
}: {
  article: RowFragment;
  now: number;
  children?: ComponentChildren;
}) {
  const posted = Date.parse(article.createdAt);
  return (
    <p class="facts">
      {article.isInteresting && (
        <a class="star" href="/g/interesting">
          interesting
        </a>
      )}
      <span>
        <a href={paths.article(article.number)}>
          <time dateTime={article.createdAt}>{ago(posted, now)}</time>
        </a>{" "}
        by{" "}
        <a dir="auto" href={paths.user(article.poster.name)}>
          {article.poster.name}
        </a>
      </span>
      {article.groups.length > 0 && (
        <span>
          {article.groups.map((group) => (
            <a key={group.id} class="group" dir="auto" href={paths.list("SCORE", group.name)}>
              #{group.name}
            </a>
          ))}
        </span>
      )}
      {article.editedAt && <span>edited {ago(Date.parse(article.editedAt), now)}</span>}
      <span>{timeLeft(closing(article), now)}</span>
      {children}
    </p>
  );
}
