import { fill, texts } from "./strings";

/** Shares a page of this site, or copies its link. */
export function share(title: string, say: (message: string) => void, path: string): void {
  const url = location.origin + path;
  const shared = navigator.share
    ? navigator.share({ title, url })
    : // Browsers have no clipboard without HTTPS.
      (navigator.clipboard?.writeText(url).then(() => say(texts.linkCopied)) ?? Promise.reject());
  shared.catch((error) => error?.name !== "AbortError" && say(fill(texts.copyFailed, { link: url })));
}
