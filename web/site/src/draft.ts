import type { PostInput } from "./gql";
import { ofWindow } from "./storage";
import { unguessable } from "./text";

/** A post as it is being written: a field of text each. */
export interface Draft {
  title: string;
  link: string;
  text: string;
  groups: string;
}

const draftKey = "frontpage.draft";
const sentKey = "frontpage.sent";
const empty: Draft = { title: "", link: "", text: "", groups: "" };

/** What this window was writing, so that neither signing in nor loading the page anew loses it. */
export function readDraft(): Draft {
  try {
    return { ...empty, ...JSON.parse(ofWindow.get(draftKey) ?? "{}") };
  } catch {
    return empty;
  }
}

export function keepDraft(draft: Draft | undefined): void {
  if (draft) ofWindow.set(draftKey, JSON.stringify(draft));
  else {
    ofWindow.remove(draftKey);
    ofWindow.remove(sentKey);
  }
}

/** The names of groups in a text, between blanks or commas. */
export function groupNames(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

/** Completes the name that is being written at the end of a text, or adds one. */
export function withGroup(text: string, name: string): string {
  return `${text.replace(/[^\s,]*$/, "")}${name} `;
}

/** The groups to offer: those that begin as the last word does and are not in the text yet. */
export function suggest(text: string, groups: string[], most: number): string[] {
  const names = groupNames(text).map((name) => name.toLowerCase());
  const word = /[^\s,]*$/.exec(text)?.[0].toLowerCase() ?? "";
  return groups.filter((group) => group.startsWith(word) && !names.includes(group)).slice(0, most);
}

export function toInput(draft: Draft): PostInput {
  return {
    title: draft.title,
    link: draft.link.trim() || null,
    text: draft.text.trim() ? draft.text : null,
    groups: groupNames(draft.groups),
  };
}

/** The idempotency key to send a post under: for the same post the same, so that it cannot be there twice. */
export function keyOf(input: PostInput): string {
  const post = JSON.stringify(input);
  const sent = JSON.parse(ofWindow.get(sentKey) ?? "{}") as { post?: string; key?: string };
  if (sent.post === post && sent.key) return sent.key;
  const key = unguessable();
  ofWindow.set(sentKey, JSON.stringify({ post, key }));
  return key;
}
