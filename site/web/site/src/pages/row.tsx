import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RowFragment } from "../data/gql";
import { type Later, type Place, usePage } from "../data/page";
import { useNear } from "../ui/hooks";
import { paths } from "../ui/router";
import { fill, filled, texts } from "../ui/strings";
import { host } from "../ui/text";
import { age, ago, closing, timeLeft } from "../ui/time";
import { Votes } from "./vote";

// Package pages renders the same rows on the server. Its tests compare them with these.

interface RowProps extends Place {
  article: RowFragment;
  now: number;
}

const maxGroups = 3;
const lastDay = 86_400_000; // milliseconds

/** An article in a list. It is drawn again only if something of it changes: a busy list changes all the time. */
export function Row(props: RowProps) {
  return useMemo(() => <Drawn {...props} />, Object.values(props));
}

/** Its menu and the explanation of its rank are in the second script. */
function Drawn({ article, now, ...place }: RowProps) {
  const { rank, note, isNew, since, seen } = place;
  const { say, load } = usePage();
  const [explained, setExplained] = useState(false);
  const [later, setLater] = useState<Later>();
  const [open, setOpen] = useState(false);
  if (article.deletedAt) return <Gone rank={rank} />;
  const { number, title, link, editedAt } = article;
  const from = link && host(link);
  const groups = article.groups.filter(({ name }) => name !== place.group && name !== from);
  const end = closing(article);
  const show = async () => {
    const script = await load().catch(() => say(texts.notLoaded));
    if (!script) return;
    setLater(script);
    setOpen(true);
  };
  return (
    <li class="row" value={rank} id={article.id} data-id={article.id} data-new={isNew || undefined}>
      {since && <Since text={since} seen={seen} />}
      <span class="rank" aria-hidden="true">
        {rank}
      </span>
      <h2>
        <a class="title" dir="auto" rel="ugc" href={link ?? paths.article(number)}>
          {title}
        </a>{" "}
        {link && (
          <span class="host" dir="auto">
            {from}
          </span>
        )}
      </h2>
      <Votes article={article} now={now} />
      <div class="line">
        <p class="facts">
          <Posted article={article} now={now} short />
          {editedAt && <span>{fill(texts.edited, { time: ago(Date.parse(editedAt), now) })}</span>}
          {now < end && now >= end - lastDay && <span>{timeLeft(end, now)}</span>}
          {note && <span class="note">{note}</span>}
          <Groups groups={groups.slice(0, maxGroups)}>
            {groups.length > 1 && (
              <a class={groups.length > maxGroups ? "plus" : "plus narrow"} href={paths.article(number)}>
                {groups.length > maxGroups && <span class="wide">+{groups.length - maxGroups}</span>}
                <span class="narrow">+{groups.length - 1}</span>
                <span class="unseen"> {texts.moreGroups}</span>
              </a>
            )}
          </Groups>
        </p>
        <button type="button" class="tool" aria-label={texts.more} aria-expanded={open} onClick={show}>
          …
        </button>
      </div>
      {later && open && (
        <later.Sheet
          {...{ article, now, place }}
          close={() => setOpen(false)}
          explain={() => setExplained(!explained)}
        />
      )}
      {later && explained && <later.Why article={article} above={place.above} />}
    </li>
  );
}

/** The line between what is new and what was there. */
function Since({ text, seen }: { text: string; seen?(): void }) {
  const [near, line] = useNear<HTMLElement>("0px", false, []);
  useEffect(() => {
    if (near) seen?.();
  }, [near]);
  return (
    <span ref={line} class="since">
      {text}
    </span>
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

interface PostedProps {
  article: RowFragment;
  now: number;
  /** Whether it has no room for a sentence. */
  short?: boolean;
}

/** When and by whom an article was posted. */
export function Posted({ article: { createdAt, number, poster }, now, short }: PostedProps) {
  const at = Date.parse(createdAt);
  const time = (
    <a href={paths.article(number)}>
      <time dateTime={createdAt}>{short ? age(at, now) : ago(at, now)}</time>
    </a>
  );
  const user = (
    <a dir="auto" href={paths.user(poster.name)}>
      {poster.name}
    </a>
  );
  if (!short) return <span>{filled(texts.postedBy, { time, user })}</span>;
  return (
    <>
      <span>{time}</span>
      <span>{user}</span>
    </>
  );
}

interface GroupsProps {
  groups: RowFragment["groups"];
  children?: ComponentChildren;
}

/** The groups of an article. Names alone, such as go, do not describe links. The direction is that of the name. */
export function Groups({ groups, children }: GroupsProps) {
  return (
    <>
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
