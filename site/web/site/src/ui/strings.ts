import type { ComponentChildren } from "preact";
import type en from "../../strings/en.json";

/** The server's config.json: how the site is configured, and its texts in the site's language. */
interface Config {
  name: string;
  logo?: string;
  /** Links in the footer. */
  links: { text: string; url: string }[];
  /** The rules of the site, in words. */
  rules: string[];
  /** How long a post can be changed, seconds. */
  editable: { title: number; text: number };
  /** Pages that the rules of the site leave out, by the first segments of their paths. */
  without: string[];
  texts: typeof en;
}

/** The forms of a text with a number, by the plural rules of the language. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

export let config: Config;

/** The texts of the site. strings/en.json has them in English. */
export let texts: Config["texts"];

/** Reads the configuration, before all else. It is not in the pages: browsers show a page sooner that is smaller. */
export async function configure() {
  config = await (await fetch("/config.json")).json();
  texts = config.texts;
}

/** Replaces names in braces, such as {link}, by elements or texts. */
export const filled = (text: string, values: Record<string, ComponentChildren>): ComponentChildren[] =>
  text.split(/\{(\w+)\}/).map((part, i) => (i % 2 ? values[part] : part));

/** Replaces names in braces by texts. */
export const fill = (text: string, values: Record<string, string | number>): string =>
  filled(text, values).join("");

let plurals: Intl.PluralRules | undefined;

/** Returns the form of a text for a number, with the number in it: "1 vote", "1,200 votes", "−2 votes". */
export function counted(count: number, forms: Forms): string {
  plurals ??= new Intl.PluralRules(texts.locale);
  return fill(forms[plurals.select(Math.abs(count))] ?? forms.other, { n: formatNumber(count) });
}

/**
 * Formats a number as the language does: 1,234,567, with a typographic minus sign. Creating the browser's number
 * formatter takes as long as rendering a screen of articles.
 */
export const formatNumber = (number: number): string =>
  `${Math.round(number)}`.replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, texts.thousands);

/** Formats a number with one digit after the decimal point. */
export const formatTenths = (number: number): string => number.toFixed(1).replace(".", texts.decimal);

/** A short form: 12, 950, 1.2k, with a typographic minus sign. */
export function short(number: number): string {
  const size = Math.abs(number);
  if (size < 1000) return formatNumber(number);
  const thousands = size / 1000;
  return `${number < 0 ? "\u2212" : ""}${size < 99_950 ? formatTenths(thousands) : formatNumber(thousands)}k`;
}
