import { expect, test } from "vitest";
import { counted, fill, filled, formatNumber, short, texts } from "./strings";

test.each([
  [0, "0 votes"],
  [1, "1 vote"],
  [2, "2 votes"],
  [-1, "−1 vote"],
  [-2, "−2 votes"],
  [1200, "1,200 votes"],
  [-1234567, "−1,234,567 votes"],
])("%d is %s", (count, text) => {
  expect(counted(count, texts.votes)).toBe(text);
});

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1,000"],
  [1_700_000_000.4, "1,700,000,000"],
  [999_999.5, "1,000,000"],
  [-0.4, "0"],
  [-999, "−999"],
  [-1000, "−1,000"],
])("%d is formatted as %s", (number, text) => {
  expect(formatNumber(number)).toBe(text);
});

// web/texts_test.go has the same numbers.
test.each([
  [0, "0"],
  [-1, "−1"],
  [999, "999"],
  [1000, "1.0k"],
  [-1250, "−1.3k"],
  [99_949, "99.9k"],
  [99_950, "100k"],
  [1_234_567, "1,235k"],
])("the short form of %d is %s", (number, text) => {
  expect(short(number)).toBe(text);
});

test("names in braces are replaced", () => {
  expect(fill("{a} by {b}, {a}", { a: "x", b: 2 })).toBe("x by 2, x");
  expect(fill("none", { a: "x" })).toBe("none");
  expect(filled("Go {link}.", { link: 7 })).toEqual(["Go ", 7, "."]);
});
