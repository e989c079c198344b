import { expect, test } from "vitest";
import { path } from "./plot";

// x grows from 58 to 468, y from 210 at the bottom to 12 at the top.
test.each<[string, Parameters<typeof path>[0], string]>([
  [
    "a line",
    [
      [0, 0],
      [1, 1],
    ],
    "M58.0 210.0L468.0 12.0",
  ],
  [
    "an interrupted line",
    [[0, 0], [0.5, 0], undefined, [1, 0], [1, 1]],
    "M58.0 210.0L263.0 210.0M468.0 210.0L468.0 12.0",
  ],
  ["a point", [undefined, [0.5, 0.5], undefined], "M263.0 111.0h0"],
  [
    "a line that leaves the plot",
    [
      [0, 0],
      [1, 2],
      [1, 3],
    ],
    "M58.0 210.0L263.0 12.0",
  ],
  [
    "a line that becomes infinite",
    [
      [0, 0],
      [0.5, 0.5],
      [1, Number.POSITIVE_INFINITY],
    ],
    "M58.0 210.0L263.0 111.0L263.0 12.0",
  ],
  ["nothing", [undefined, undefined], ""],
])("the path of %s", (_, points, want) => {
  expect(path(points)).toBe(want);
});
