import { windowStorage } from "../ui/storage";
import { randomKey } from "../ui/text";
import type { PostInput } from "./later-gql";

/** A post that is being written: the texts of the form's fields. */
export interface Draft {
  title: string;
  link: string;
  text: string;
  groups: string;
}

const draftKey = "frontpage.draft";
const sentKey = "frontpage.sent";
const empty: Draft = { title: "", link: "", text: "", groups: "" };

/** Returns this window's draft, which survives signing in and reloading the page. */
export function readDraft(): Draft {
  try {
    return { ...empty, ...JSON.parse(windowStorage.get(draftKey) ?? "{}") };
  } catch {
    return empty;
  }
}

/** Returns a link as it is posted: an address without a scheme gets one, anything else stays. */
export function completeLink(text: string): string {
  const link = text.trim();
  return /^[^\s/:]+\.[^\s/:.]{2,}(:\d+)?([/?#]\S*)?$/.test(link) ? `https://${link}` : link;
}

/**
 * Returns a draft with what the address of the form says: link, title, text and group. An application that shares a page may
 * have its address in the text.
 */
export function fromAddress(draft: Draft, query: URLSearchParams): Draft {
  const get = (name: string) => query.get(name)?.trim() ?? "";
  const [link, text, group] = [get("link"), get("text"), get("group")];
  const shared = !link && /^https?:\/\/\S+$/.test(text);
  return {
    title: get("title") || draft.title,
    link: completeLink(shared ? text : link) || draft.link,
    text: (!shared && text) || draft.text,
    groups: group && !draft.groups ? `${group} ` : draft.groups,
  };
}

/** Forgets this window's draft: it was posted. */
export function dropDraft(): void {
  windowStorage.remove(draftKey);
  windowStorage.remove(sentKey);
}

export function keepDraft(draft: Draft | undefined): void {
  if (draft) windowStorage.set(draftKey, JSON.stringify(draft));
  else dropDraft();
}

/** Returns the group names in a text, separated by spaces or commas. */
export function groupNames(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

/** Completes the unfinished name at the end of a text, or appends a name. */
export function withGroup(text: string, name: string): string {
  return `${text.replace(/[^\s,]*$/, "")}${name} `;
}

/** Returns the unfinished name at the end of a text. */
export function lastWord(text: string): string {
  return /[^\s,]*$/.exec(text)?.[0].toLowerCase() ?? "";
}

/** Returns the groups to suggest: those that have the last word in their names and are not in the text yet. */
export function suggest(text: string, groups: string[], max: number): string[] {
  const names = groupNames(text).map((name) => name.toLowerCase());
  const word = lastWord(text);
  return groups.filter((group) => group.includes(word) && !names.includes(group)).slice(0, max);
}

export function toInput(draft: Draft): PostInput {
  return {
    title: draft.title,
    link: draft.link.trim() || null,
    text: draft.text.trim() ? draft.text : null,
    groups: groupNames(draft.groups),
  };
}

/**
 * Returns the idempotency key of a post: the same key for the same post, so that a retry cannot post
 * twice.
 */
export function idempotencyKey(input: PostInput): string {
  const post = JSON.stringify(input);
  const sent = JSON.parse(windowStorage.get(sentKey) ?? "{}") as { post?: string; key?: string };
  if (sent.post === post && sent.key) return sent.key;
  const key = randomKey();
  windowStorage.set(sentKey, JSON.stringify({ post, key }));
  return key;
}
