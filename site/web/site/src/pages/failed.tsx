import type { CombinedError } from "@urql/preact";
import { useEffect, useRef } from "preact/hooks";
import { usePage } from "../data/page";
import { explainError } from "../data/problem";
import { Missing, Problem } from "../ui/states";

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
