import type { CombinedError } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { explainError } from "./problem";

/** A place where there is nothing yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function Failed({ error, again }: { error: CombinedError; again(): void }) {
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
