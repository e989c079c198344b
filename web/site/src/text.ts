/** The host of a link as people say it, such as `go.dev`; nothing when a browser could not follow the link. */
export function host(link: string): string {
  return URL.canParse(link) ? new URL(link).host.replace(/^www\./, "") : "";
}

/** Splits plain text into what is a web link and what is not; every second part is a link. */
export function links(text: string): string[] {
  return text.split(/(\bhttps?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/);
}

/** "1 vote", "-2 votes", "1,200 votes". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en").replace("-", "\u2212")} ${noun}${Math.abs(count) === 1 ? "" : "s"}`;
}
