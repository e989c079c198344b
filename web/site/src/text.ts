/** The host of a link as people say it, such as `go.dev`; nothing when a browser could not follow the link. */
export function host(link: string): string {
  return URL.canParse(link) ? new URL(link).host.replace(/^www\./, "") : "";
}

/** Splits plain text into what is a web link and what is not; every second part is a link, without the sentence's own signs. */
export function links(text: string): string[] {
  const inParentheses = String.raw`\([^\s<>"()]*\)`;
  return text.split(
    new RegExp(
      String.raw`(\bhttps?:\/\/(?:${inParentheses}|[^\s<>"()])*(?:${inParentheses}|[^\s<>"().,;:!?\]}']))`,
    ),
  );
}

/** 1234567 as "1,234,567", with a true minus. By hand: making the browser's formatter takes as long as a screen of articles. */
export function grouped(count: number): string {
  return `${Math.round(count)}`.replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 vote", "−2 votes", "1,200 votes". */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${Math.abs(count) === 1 ? "" : "s"}`;
}

/** Digits of 128 random bits. Unlike crypto.randomUUID, they are there without https, too. */
export function unguessable(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("");
}
