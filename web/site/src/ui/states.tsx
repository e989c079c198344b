import type { CombinedError } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { usePage } from "../data/page";
import { explainError } from "../data/problem";
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

const retryWait = 5000; // milliseconds

/** An error, with a retry button. Retries automatically as well, unless the address is wrong. */
export function Failed({ error, retry, level }: { error: CombinedError; retry(): void; level?: 1 | 2 }) {
  const { connections } = usePage();
  const seen = useRef(connections);
  const mistyped = error.graphQLErrors[0]?.extensions.code === "BAD_USER_INPUT";
  useEffect(() => {
    if (mistyped) return;
    if (seen.current !== connections) retry();
    seen.current = connections;
    const timer = setInterval(retry, retryWait);
    return () => clearInterval(timer);
  }, [connections]);
  if (mistyped) return <Missing level={level} why={explainError(error)} />;
  return <Problem text={explainError(error)} retry={retry} />;
}

/** Instead of what is in the second script, if that cannot be loaded. */
export const Unloaded = () => <Problem text={texts.notLoaded} retry={() => location.reload()} />;

function Problem({ text, retry }: { text: string; retry(): void }) {
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
