import type { ComponentChildren } from "preact";
import { type Described, usePage } from "../data/page";
import { feeds, has, paths } from "../ui/router";
import { counted, texts } from "../ui/strings";
import { FollowButton } from "./following";

// Package pages renders the same on the server. Its tests compare them.

interface GroupProps {
  name: string;
  /** Undefined until it is read. */
  group?: (Omit<Described, "name"> & { id: string; viewerFollows: boolean | null }) | null;
  /** Number of articles in the list. */
  count?: number;
  shown: "hot" | "new" | "top";
  children?: ComponentChildren;
}

/** The top of a list of a group: its name, what it is about, its lists, and its rules. */
export function GroupHeader({ name, group, count, shown, children }: GroupProps) {
  const { tools } = usePage();
  const tab = (of: GroupProps["shown"], path: string) =>
    has(path) && (
      <a href={path} aria-current={shown === of ? "page" : undefined}>
        {texts[of]}
      </a>
    );
  return (
    <header class="heading">
      <h1 dir="auto">{name}</h1>
      {group && <FollowButton id={group.id} follows={group.viewerFollows} />}
      <a class="button here" href={`/submit?${new URLSearchParams({ group: name })}`}>
        {texts.postHere}
      </a>
      {group?.description && (
        <p class="words" dir="auto">
          {group.description}
        </p>
      )}
      <nav aria-label={texts.order}>
        {tab("hot", paths.list("SCORE", name))}
        {tab("new", paths.list("TIME", name))}
        {tab("top", paths.top("WEEK", name))}
      </nav>
      <p class="about">
        {count ? <span>{counted(count, texts.articles)}</span> : ""}
        <a href={`${feeds(location.pathname)}/feed.atom`}>{texts.feed}</a>
        {tools && group && (
          <button type="button" class="link" onClick={() => tools.describe({ name, ...group })}>
            {texts.edit}
          </button>
        )}
      </p>
      {group && group.rules.length > 0 && (
        <details class="rules">
          <summary>{texts.rules}</summary>
          <Rules rules={group.rules} />
        </details>
      )}
      {children}
    </header>
  );
}

/** Rules in the order in which they were given. */
export function Rules({ rules }: { rules: string[] }) {
  return (
    <ol>
      {rules.map((rule) => (
        <li key={rule} dir="auto">
          {rule}
        </li>
      ))}
    </ol>
  );
}
