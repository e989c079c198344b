import type { ComponentChildren } from "preact";
import { filled, texts } from "./strings";

interface EmptyProps {
  title: string;
  /** Level of the heading: 1 on a page without another heading. */
  level?: 1 | 2;
  children?: ComponentChildren;
}

/** A list or page without content, and what to do about it. */
export function Empty({ title, level = 2, children }: EmptyProps) {
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <div class="empty">
      <Heading>{title}</Heading>
      {children}
    </div>
  );
}

/** The page for an unknown address. */
export function Missing({ level, why }: { level?: 1 | 2; why?: string }) {
  return (
    <Empty level={level} title={texts.pageMissing}>
      <p>
        {why} {filled(texts.checkAddress, { link: <a href="/">{texts.goToFrontPage}</a> })}
      </p>
    </Empty>
  );
}

/** Instead of what is in the second script, if that cannot be loaded. */
export const Unloaded = () => <Problem text={texts.notLoaded} retry={() => location.reload()} />;

export function Problem({ text, retry }: { text: string; retry(): void }) {
  return (
    <div class="empty" role="alert">
      <p>{text}</p>
      <button class="button" type="button" onClick={retry}>
        {texts.tryAgain}
      </button>
    </div>
  );
}

/**
 * The placeholder of a list that is loading. It appears after a short delay, so that a fast response
 * causes no flicker.
 */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  return (
    <div class="skeleton">
      <p class="unseen">{texts.loading}</p>
      {[...Array(rows).keys()].map((row) => (
        <div key={row} />
      ))}
    </div>
  );
}
