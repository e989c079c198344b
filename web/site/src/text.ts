/** Returns the host of a link without "www.", such as `go.dev`; empty if a browser cannot follow the link. */
export function host(link: string): string {
  return URL.canParse(link) ? new URL(link).host.replace(/^www\./, "") : "";
}

/** Splits plain text at web links. Every second element is a link, without trailing punctuation. */
export function links(text: string): string[] {
  const inParentheses = String.raw`\([^\s<>"()]*\)`;
  return text.split(
    new RegExp(
      String.raw`(\bhttps?:\/\/(?:${inParentheses}|[^\s<>"()])*(?:${inParentheses}|[^\s<>"().,;:!?\]}']))`,
    ),
  );
}

/**
 * Formats 1234567 as "1,234,567", with a typographic minus sign. Creating the browser's number formatter
 * takes as long as rendering a screen of articles.
 */
export function formatNumber(count: number): string {
  return `${Math.round(count)}`.replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 vote", "−2 votes", "1,200 votes". */
export function counted(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${Math.abs(count) === 1 ? "" : "s"}`;
}

/** Returns 128 random bits as digits. Unlike crypto.randomUUID, this works without HTTPS. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("");
}
