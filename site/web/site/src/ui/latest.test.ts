import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { latest } from "./latest";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Notes when tasks start and end. */
function noted() {
  const notes: string[] = [];
  const task = (name: string) => () => {
    notes.push(`${name} starts`);
    return () => notes.push(`${name} ends`);
  };
  return { notes, task, run: latest() };
}

test("of the texts that are typed without a pause, only the last one is asked for", () => {
  const { notes, task, run } = noted();
  for (const text of ["g", "go", "go 1"]) {
    run(task(text), 200);
    vi.advanceTimersByTime(199);
  }
  expect(notes).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(notes).toEqual(["go 1 starts"]);
});

test("a new text ends the request for the one before at once", () => {
  const { notes, task, run } = noted();
  run(task("go"), 200);
  vi.advanceTimersByTime(200);
  run(task("golang"), 200);
  expect(notes).toEqual(["go starts", "go ends"]);
  vi.advanceTimersByTime(200);
  run();
  run();
  expect(notes).toEqual(["go starts", "go ends", "golang starts", "golang ends"]);
});

test("a call without a task keeps one that waits from starting", () => {
  const { notes, task, run } = noted();
  run(task("go"), 200);
  run();
  vi.advanceTimersByTime(1000);
  expect(notes).toEqual([]);
});
