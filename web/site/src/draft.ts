import type { PostInput } from "./gql";

/** A post as it is being written: a field of text each. */
export interface Draft {
  title: string;
  link: string;
  text: string;
  groups: string;
}

const draftKey = "frontpage.draft";
const empty: Draft = { title: "", link: "", text: "", groups: "" };

/** What this window was writing, so that neither signing in nor loading the page anew loses it. */
export function readDraft(): Draft {
  try {
    return { ...empty, ...JSON.parse(sessionStorage.getItem(draftKey) ?? "{}") };
  } catch {
    return empty;
  }
}

export function keepDraft(draft: Draft | undefined): void {
  try {
    if (draft) sessionStorage.setItem(draftKey, JSON.stringify(draft));
    else sessionStorage.removeItem(draftKey);
  } catch {
    // It is longer than the browser keeps, and far longer than can be posted.
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
