import { useClient } from "@urql/preact";
import { useEffect, useState } from "preact/hooks";
import { isUnanswered } from "../data/mutations";

export type Later = typeof import("./later");

let loaded: Later | undefined;

/** Loads the second script, which later.tsx describes, if it is not loaded yet. */
export async function load(): Promise<Later> {
  loaded ??= await import("./later");
  return loaded;
}

/** Loads the second script before it is needed, such as when the pointer is over a link to one of its pages. */
export const preload = () => void load().catch(() => {});

/** Returns the second script, once it is loaded. `failed` says that it cannot be. */
export function useLater(): { later?: Later; failed: boolean } {
  const [later, setLater] = useState(loaded);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    load().then(setLater, () => setFailed(true));
  }, []);
  return { later, failed };
}

/**
 * Repeats the mutations that were unanswered when the user left the previous page of this window: they may
 * not have arrived. Reports whether that is done. What is read before it may lack their effects.
 */
export function useRepeat(viewer: string | undefined, say: (message: string) => void): boolean {
  const client = useClient();
  const [done, setDone] = useState(() => !isUnanswered());
  useEffect(() => {
    if (viewer && isUnanswered())
      void load()
        .then(({ repeat }) => repeat(client, viewer, say))
        .finally(() => setDone(true));
  }, [viewer]);
  return done;
}
