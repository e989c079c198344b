/** What ends a task that is under way. */
type End = () => void;

/**
 * Returns a function that starts a task after a moment, in milliseconds, unless another call replaces it before. A call
 * also ends the task before it, so that a late answer never replaces a newer one. Without a task it only does that.
 */
export function latest(): (task?: () => End, wait?: number) => void {
  let end: End = () => {};
  return (task, wait = 0) => {
    end();
    end = () => {};
    if (!task) return;
    const timer = setTimeout(() => {
      end = task();
    }, wait);
    end = () => clearTimeout(timer);
  };
}
