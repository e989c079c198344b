import { useEffect, useState } from "preact/hooks";

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
