/** What the browser keeps. Where it keeps nothing, because readers want it so, that lasts as long as the page. */
export interface Kept {
  get(key: string): string | null;
  set(key: string, value: string): void;
  remove(key: string): void;
}

/** For this window. */
export const ofWindow = kept(() => sessionStorage);
/** For all windows of this origin. */
export const ofBrowser = kept(() => localStorage);

function kept(area: () => Storage): Kept {
  const memory = new Map<string, string>();
  const tried = <T>(action: () => T): T | undefined => {
    try {
      return action();
    } catch {
      // Switched off, or full.
    }
  };
  return {
    get: (key) => memory.get(key) ?? tried(() => area().getItem(key)) ?? null,
    set(key, value) {
      memory.delete(key);
      tried(() => area().setItem(key, value));
      if (tried(() => area().getItem(key)) !== value) memory.set(key, value);
    },
    remove(key) {
      memory.delete(key);
      tried(() => area().removeItem(key));
    },
  };
}
