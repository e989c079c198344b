import { fill, texts } from "./strings";

/** Shares this page, or copies its link. */
export function share(title: string, say: (message: string) => void): void {
  const { href: url } = location;
  const shared = navigator.share
    ? navigator.share({ title, url })
    : // Browsers have no clipboard without HTTPS.
      (navigator.clipboard?.writeText(url).then(() => say(texts.linkCopied)) ?? Promise.reject());
  shared.catch((error) => error?.name !== "AbortError" && say(fill(texts.copyFailed, { link: url })));
}
