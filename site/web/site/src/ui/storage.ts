/** Storage of the browser. If it is disabled or full, values last as long as the page. */
export interface KeyValueStore {
  get(key: string): string | null;
  set(key: string, value: string): void;
  remove(key: string): void;
}

/** Values of this window. */
export const windowStorage = open(() => sessionStorage);
/** Values shared by all windows of this origin. */
export const browserStorage = open(() => localStorage);

function open(area: () => Storage): KeyValueStore {
  const memory = new Map<string, string>();
  const attempt = <T>(action: () => T): T | undefined => {
    try {
      return action();
    } catch {
      // Disabled or full.
    }
  };
  return {
    get: (key) => memory.get(key) ?? attempt(() => area().getItem(key)) ?? null,
    set(key, value) {
      memory.delete(key);
      attempt(() => area().setItem(key, value));
      if (attempt(() => area().getItem(key)) !== value) memory.set(key, value);
    },
    remove(key) {
      memory.delete(key);
      attempt(() => area().removeItem(key));
    },
  };
}
