import type { CombinedError } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { usePage } from "./page";
import { explainError } from "./problem";

interface EmptyProps {
  title: string;
  /** Of the heading: 1 on a page that has none beside it. */
  level?: 1 | 2;
  children?: ComponentChildren;
}

/** A place where there is nothing yet, and what to do about it. */
export function Empty({ title, level = 2, children }: EmptyProps) {
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <div class="empty">
      <Heading>{title}</Heading>
      {children}
    </div>
  );
}

/** An address where there is nothing. */
export function Missing({ level }: { level?: 1 | 2 }) {
  return (
    <Empty level={level} title="There is nothing here">
      <p>
        The address may be mistyped. <a href="/">Go to the front page</a>.
      </p>
    </Empty>
  );
}

const retryWait = 5000; // milliseconds

/** What went wrong. Unless the fault is in the address, it is tried again by itself, too. */
export function Failed({ error, again, level }: { error: CombinedError; again(): void; level?: 1 | 2 }) {
  const { connections } = usePage();
  const known = useRef(connections);
  const mistyped = error.graphQLErrors[0]?.extensions.code === "BAD_USER_INPUT";
  useEffect(() => {
    if (mistyped) return;
    if (known.current !== connections) again();
    known.current = connections;
    const timer = setInterval(again, retryWait);
    return () => clearInterval(timer);
  }, [connections]);
  if (mistyped) return <Missing level={level} />;
  return (
    <div class="empty" role="alert">
      <p>{explainError(error)}</p>
      <button class="button" type="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** The outline of a list that is on its way. It shows after a moment, so that a quick answer has no flicker. */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  return (
    <div class="skeleton">
      <p class="unseen">Loading</p>
      {[...Array(rows).keys()].map((row) => (
        <div key={row} />
      ))}
    </div>
  );
}
