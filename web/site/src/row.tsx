import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RowFragment } from "./gql";
import { usePage } from "./page";
import { paths } from "./router";
import { counted, fill, filled, texts } from "./strings";
import { host } from "./text";
import { ago, closing, timeLeft } from "./time";
import { Votes } from "./vote";
import { Why } from "./why";

// Package pages renders the same rows on the server. Its tests compare them with these.

interface RowProps {
  article: RowFragment;
  now: number;
  rank?: number;
  above?: RowFragment;
  note?: string;
}

const maxGroups = 3;
const lastDay = 86_400_000; // milliseconds

/**
 * An article in a list. `above` is the preceding article, in a list ordered by score. Other lists may have a `note`,
 * which can be empty, instead of the explanation of the score.
 */
export function Row({ article, now, rank, above, note }: RowProps) {
  const [explained, setExplained] = useState(false);
  const { tools } = usePage();
  const why = `why-${article.number}`;
  if (article.deletedAt) return <Gone rank={rank} />;
  const { number, title, link, groups, editedAt } = article;
  const end = closing(article);
  return (
    <li class="row" value={rank} id={article.id} data-id={article.id}>
      <span class="rank" aria-hidden="true">
        {rank}
      </span>
      <Votes
        article={article}
        now={now}
        explains={note === undefined ? why : undefined}
        explained={explained}
        explain={setExplained}
      />
      <div class="what">
        <h2>
          <a class="title" dir="auto" rel="ugc" href={link ?? paths.article(number)}>
            {title}
          </a>{" "}
          {link && (
            <span class="host" dir="auto">
              {host(link)}
            </span>
          )}
        </h2>
        <p class="facts">
          <Posted article={article} now={now} />
          {editedAt && <span>{fill(texts.edited, { time: ago(Date.parse(editedAt), now) })}</span>}
          {now < end && now >= end - lastDay && <span>{timeLeft(end, now)}</span>}
          {note && <span class="note">{note}</span>}
          <Groups article={article} groups={groups.slice(0, maxGroups)}>
            {groups.length > maxGroups && (
              <a
                class="group"
                href={paths.article(number)}
                aria-label={counted(groups.length - maxGroups, texts.moreGroups)}
              >
                +{groups.length - maxGroups}
              </a>
            )}
          </Groups>
          {tools?.(article)}
        </p>
        <div id={why}>{explained && <Why article={article} now={now} above={above} />}</div>
      </div>
    </li>
  );
}

/** The row of a deleted article. */
export function Gone({ rank }: { rank?: number }) {
  return (
    <li class="row gone" value={rank}>
      {texts.deletedRow}
    </li>
  );
}

interface FactProps {
  article: RowFragment;
  now: number;
}

/** When and by whom an article was posted. */
export function Posted({ article: { createdAt, number, poster }, now }: FactProps) {
  return (
    <span>
      {filled(texts.postedBy, {
        time: (
          <a href={paths.article(number)}>
            <time dateTime={createdAt}>{ago(Date.parse(createdAt), now)}</time>
          </a>
        ),
        user: (
          <a dir="auto" href={paths.user(poster.name)}>
            {poster.name}
          </a>
        ),
      })}
    </span>
  );
}

interface GroupsProps {
  article: RowFragment;
  groups: RowFragment["groups"];
  children?: ComponentChildren;
}

/** The groups of an article. Names alone, such as go, do not describe links. The direction is that of the name. */
export function Groups({ article: { isInteresting }, groups, children }: GroupsProps) {
  return (
    <>
      {isInteresting && (
        <a class="group star" href="/g/interesting">
          <span>{texts.isInteresting}</span>
        </a>
      )}
      {groups.map(({ id, name }) => (
        <a key={id} class="group" dir="auto" href={paths.list("SCORE", name)}>
          <bdi class="unseen">{texts.group} </bdi>
          {name}
        </a>
      ))}
      {children}
    </>
  );
}
