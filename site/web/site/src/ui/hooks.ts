import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { config, fill, texts } from "./strings";

const tick = 15_000; // milliseconds

/** The current time in Unix milliseconds. It advances every 15 s, and exactly at the given times. */
export function useNow(times: number[] = []): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const waits = times.filter((time) => time > now).map((time) => time - Date.now());
    const timer = setTimeout(() => setNow(Date.now()), Math.max(0, Math.min(tick, ...waits)));
    return () => clearTimeout(timer);
  }, [now, times.join()]);
  return now;
}

/** Sets the title of the window. */
export function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = title ? fill(texts.titleOf, { title, site: config.name }) : config.name;
  }, [title]);
}

/** Returns a text once it has not changed for a moment, so that typing does not ask the server at every key. */
export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(settle, 200, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/**
 * Reports whether an element is in the viewport or within a margin of it. Returns `initial` until that is
 * known.
 */
export function useNear<E extends Element>(
  margin: string,
  initial: boolean,
  dependencies: unknown[],
): [boolean, { current: E | null }] {
  const element = useRef<E>(null);
  const [near, setNear] = useState(initial);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(([entry]) => setNear(entry?.isIntersecting ?? false), {
      rootMargin: margin,
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, dependencies);
  return [near, element];
}
