import { useClient } from "@urql/preact";
import { useEffect, useRef } from "preact/hooks";
import { Delete, type RemovalGround, Restore } from "../data/later-gql";
import { Settle, type SettleAct } from "../data/moderation-gql";
import { usePage } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { inOrder } from "../data/requests";
import { paths } from "../ui/router";
import { browserStorage } from "../ui/storage";
import { config, texts } from "../ui/strings";
import { host } from "../ui/text";

// What the pages for moderators share: sending decisions, single keys, and parts of a card.

const switchKey = "frontpage.keys"; // of keyboard.tsx, in which the help turns single keys off

/** What a moderator says of a removal. */
export interface Why {
  ground: RemovalGround;
  reason?: string;
  /** The rule. */
  basis?: string;
}

/** What became of a decision: done, refused because another moderator was faster, or failed, of which the user learns. */
export type Outcome = "done" | "conflict" | "failed";

/** Returns functions that send the decisions of a moderator. */
export function useDecisions() {
  const client = useClient();
  const { say } = usePage();
  const outcome = (
    error: Parameters<typeof explainError>[0] | undefined,
    payload: { userErrors: { code: string; message: string }[] } | null | undefined,
  ): Outcome => {
    const refused = payload?.userErrors[0];
    if (refused?.code === "CONFLICT") return "conflict";
    if (!error && !refused && payload) return "done";
    say(refused ? explainRefusal(refused) : error ? explainError(error) : texts.wentWrong);
    return "failed";
  };
  return {
    async settle(target: string, throughReport: string, act: SettleAct) {
      const input = { target, throughReport, act };
      const { data, error } = await client
        .mutation(Settle, { input }, { fetch: inOrder(`Settle ${target}`) })
        .toPromise();
      return outcome(error, data?.settleFlags);
    },
    /** Says why a deleted article was deleted. */
    async explain(article: string, { ground, reason, basis }: Why) {
      const input = { article, ground, reason: reason || null, basis };
      const { data, error } = await client
        .mutation(Delete, { input }, { fetch: inOrder(`Delete ${article}`) })
        .toPromise();
      return outcome(error, data?.deleteArticle);
    },
    async putBack(article: string) {
      const { data, error } = await client
        .mutation(Restore, { input: { article } }, { fetch: inOrder(`Restore ${article}`) })
        .toPromise();
      return outcome(error, data?.restoreArticle);
    },
  };
}

/** The cards of the page, in order. */
const cards = () => [...document.querySelectorAll<HTMLElement>("[data-case]")];

/** Returns the id of the card that has the focus, or contains it. */
export const currentCase = () =>
  document.activeElement?.closest<HTMLElement>("[data-case]")?.dataset.case ?? "";

/** Focuses the card before or after the current one, or the first card. */
function go(step: 1 | -1): void {
  const all = cards();
  const at = all.findIndex((card) => card.dataset.case === currentCase());
  focusOn(at < 0 ? all[0] : all[at + step]);
}

function focusOn(card?: HTMLElement): void {
  const title = card?.querySelector<HTMLElement>(".title");
  title?.focus();
  title?.scrollIntoView({ block: "nearest" });
}

/** Moves the focus from a card that is decided to the next open one, or else to the last open one before it. */
export function goOn(from: string): void {
  const all = cards();
  const at = all.findIndex((card) => card.dataset.case === from);
  const isOpen = (card: HTMLElement) => card.dataset.open !== undefined;
  focusOn(all.slice(at + 1).find(isOpen) ?? all.slice(0, at).findLast(isOpen) ?? all[at]);
}

/** The fields for words stand in cards by this name. */
export const focusReason = (id: string) =>
  cards()
    .find((card) => card.dataset.case === id)
    ?.querySelector("input")
    ?.focus();

/**
 * Single keys of a page for moderators, beside those that move: with modifiers and in fields they do nothing, and they
 * replace the keys of other pages.
 */
export function useKeys(actions: Record<string, () => void>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const { key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select")) return;
      const help = document.querySelector<HTMLDialogElement>("dialog.moderating");
      const all: Record<string, () => void> = { j: () => go(1), k: () => go(-1), ...current.current };
      const filter = document.querySelector<HTMLElement>(".filter");
      if (key === "/" && filter) filter.focus();
      else if (key === "?") help?.open ? help.close() : help?.showModal();
      else if (!all[key] || help?.open || browserStorage.get(switchKey) === "off") return;
      else if (!event.repeat || key === "j" || key === "k") all[key]();
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("keydown", press, true);
    return () => removeEventListener("keydown", press, true);
  }, []);
}

/** The title of a card, which opens the article in a new tab, and the host of its link. */
export function Title({ id, title, link }: { id: string; title: string; link?: string | null }) {
  return (
    <h2>
      <a class="title" dir="auto" href={paths.article(numberOf(id))} target="_blank" rel="noopener">
        {title}
      </a>{" "}
      {link && (
        <a class="host" dir="auto" href={link} target="_blank" rel="noopener ugc">
          {host(link)}
        </a>
      )}
    </h2>
  );
}

const numberOf = (id: string) => Number(id.slice(id.indexOf(":") + 1));

export const grounds = ["RULES", "ILLEGAL", "OTHER"] as const;

interface ReasonProps {
  /** The id of the card, for the label. */
  id: string;
  title: string;
  explain(why: Why): void;
}

const reasonsKey = "frontpage.reasons";
const mostReasons = 5;
const lastReasons = (): string[] => JSON.parse(browserStorage.get(reasonsKey) ?? "[]");

/** Asks why an article was removed: words, and the rule or the ground as a chip. */
export function Reason({ id, title, explain }: ReasonProps) {
  const words = useRef<HTMLInputElement>(null);
  const at = useRef(-1); // of the last reasons; -1: what was typed
  const give = (ground: RemovalGround, basis?: string) => {
    const reason = words.current?.value.trim() ?? "";
    // “Other” says nothing without words.
    if (ground === "OTHER" && !reason) return words.current?.focus();
    const others = lastReasons().filter((other) => other !== reason);
    if (reason) browserStorage.set(reasonsKey, JSON.stringify([reason, ...others].slice(0, mostReasons)));
    explain({ ground, reason, basis });
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey && event.key === "Enter") give("OTHER");
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step || !words.current) return;
    const last = lastReasons();
    at.current = Math.max(-1, Math.min(at.current + step, last.length - 1));
    words.current.value = last[at.current] ?? "";
    event.preventDefault();
  };
  return (
    <span class="chips">
      <label for={`why-${id}`}>{texts.removalReason}</label>
      <input
        id={`why-${id}`}
        ref={words}
        maxLength={500}
        autocomplete="off"
        aria-label={`${texts.reason}: ${title}`}
        onKeyDown={press}
      />
      {config.rules.map((rule) => (
        <button key={rule} type="button" onClick={() => give("RULES", rule)}>
          {rule}
        </button>
      ))}
      {grounds.map((ground) => (
        <button key={ground} type="button" onClick={() => give(ground)}>
          {texts.groundChips[ground]}
        </button>
      ))}
    </span>
  );
}

/** A ground, and the reason in words. */
export const saidWhy = (ground: RemovalGround, reason?: string | null, basis?: string | null) =>
  `${texts.grounds[ground]}${basis ? ` (${basis})` : ""}${reason ? `: ${reason}` : "."}`;
