import { describe, expect, test, vi } from "vitest";
import { ago, closing, duration, moment, timeLeft } from "./time";

// Berlin is one hour ahead of UTC in winter, two in summer. Set before the imports, because a date format
// uses the time zone of its creation.
vi.hoisted(() => {
  process.env.TZ = "Europe/Berlin";
});

const now = Date.parse("2026-11-21T12:00:00Z");
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const month = 30.4375 * day;
const year = 365.25 * day;

test.each([
  [0, "just now"],
  [59.999, "just now"],
  [-0.001, "just now"],
  [-2 * day, "just now"],
  [minute, "1 minute ago"],
  [2 * minute - 0.001, "1 minute ago"],
  [2 * minute, "2 minutes ago"],
  [hour - 0.001, "59 minutes ago"],
  [hour, "1 hour ago"],
  [day - 0.001, "23 hours ago"],
  [day, "1 day ago"],
  [month - 1, "30 days ago"],
  [month, "1 month ago"],
  [year - 1, "11 months ago"],
  [year, "1 year ago"],
  [56 * year, "56 years ago"],
])("%d s ago is %s", (seconds, text) => {
  expect(ago(now - seconds * 1000, now)).toBe(text);
});

test.each([
  [7 * day, "7 days left to vote"],
  [2 * day, "2 days left to vote"],
  [2 * day - 0.001, "1 day left to vote"],
  [day - 0.001, "23 hours left to vote"],
  [hour, "1 hour left to vote"],
  [2 * minute, "2 minutes left to vote"],
  [minute, "1 minute left to vote"],
  [minute - 0.001, "less than a minute left to vote"],
  [0.001, "less than a minute left to vote"],
  [0, "voting has ended"],
  [-1, "voting has ended"],
  [-year, "voting has ended"],
  [3 * year, "3 years left to vote"],
])("%d s before the end: %s", (seconds, text) => {
  expect(timeLeft(now + seconds * 1000, now)).toBe(text);
});

test.each([
  [0, "0 s"],
  [0.4, "0 s"],
  [0.5, "1 s"],
  [45, "45 s"],
  [59.6, "1 min"],
  [61, "1 min 1 s"],
  [432, "7 min 12 s"],
  [hour, "1 h"],
  [hour + 1, "1 h 1 s"],
  [hour - 1, "59 min 59 s"],
  [15 * hour + 21 * minute + 59, "15 h 21 min 59 s"],
  [day, "1 d"],
  [day + 59 * minute, "1 d 59 min"],
  [2 * day + 4 * hour + 59 * minute, "2 d 4 h 59 min"],
  [1000 * day, "1,000 d"],
  [-432, "7 min 12 s"], // the caller writes the sign
  [-0, "0 s"],
])("a duration of %d s is %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

describe("a moment", () => {
  test.each([
    ["2026-11-21T08:12:00Z", "21 Nov, 09:12:00"],
    ["2026-07-01T08:12:00Z", "1 Jul, 10:12:00"],
    ["2026-11-21T23:30:00Z", "22 Nov, 00:30:00"],
    ["2025-12-31T22:59:00Z", "31 Dec 2025, 23:59:00"],
    ["2025-12-31T23:00:00Z", "1 Jan, 00:00:00"], // already this year in Berlin
    ["2026-12-31T22:59:00Z", "31 Dec, 23:59:00"],
    ["2026-12-31T23:00:00Z", "1 Jan 2027, 00:00:00"],
    ["1970-01-01T00:00:00Z", "1 Jan 1970, 01:00:00"],
  ])("%s is %s", (then, text) => {
    expect(moment(Date.parse(then), now)).toBe(text);
  });
});

test("votes are accepted in the last second", () => {
  expect(closing({ votingEndsAt: "2026-11-21T08:00:00Z" })).toBe(Date.parse("2026-11-21T08:00:01Z"));
});
