/** Returns the host of a link as the API names it, such as `go.dev`; empty if a browser cannot follow the link. */
export function host(link: string): string {
  if (!URL.canParse(link)) return "";
  return new URL(link).host
    .replace(/\.+(?=$|:)/, "")
    .replace(/:(80|443)$/, "")
    .replace(/^(www\.)+(?=.*\.)/, "");
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

/** Returns 128 random bits as digits. Unlike crypto.randomUUID, this works without HTTPS. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("");
}
