import { counted, fill, formatNumber, texts } from "./strings";

const units = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** Formats seconds in the largest unit that fits, rounded down: "3 hours". Undefined below a minute. */
function largest(seconds: number, forms: typeof texts.lasts): string | undefined {
  for (const [unit, size] of units) {
    const count = Math.floor(seconds / size);
    if (count > 0) return counted(count, forms[unit]);
  }
}

/** Formats a time as "3 hours ago"; less than a minute ago, or in the future, as "just now". */
export const ago = (then: number, now: number): string =>
  largest((now - then) / 1000, texts.ago) ?? texts.justNow;

/** The same without words: "3 h"; less than a minute ago, or in the future, as "now". */
export const age = (then: number, now: number): string =>
  largest((now - then) / 1000, texts.ages) ?? texts.now;

/** Returns when voting closes, in Unix milliseconds: the end of the second in which it ends. */
export function closing(article: { votingEndsAt: string }): number {
  return Date.parse(article.votingEndsAt) + 1000;
}

/** Formats the time left to vote: "4 days left to vote", or "voting has ended". */
export function timeLeft(end: number, now: number): string {
  return now < end ? fill(texts.timeLeft, { time: left(end, now) }) : texts.votingEnded;
}

/** Formats the time until an end: "4 days", or "less than a minute". */
export const left = (end: number, now: number) =>
  largest((end - now) / 1000, texts.lasts) ?? texts.lessThanMinute;

/** Formats the absolute value of a duration in all units: "1 d 15 h 21 min", "45 s". */
export function duration(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.abs(Math.round(seconds));
  for (const [name, size] of [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ] as const) {
    const count = Math.floor(rest / size);
    if (count > 0 || (name === "s" && parts.length === 0))
      parts.push(fill(texts.units[name], { n: formatNumber(count) }));
    rest -= count * size;
  }
  return parts.join(" ");
}

/** Formats a time as "21 Nov, 09:12:03", with the year if it is not the current one. */
export function moment(then: number, now: number): string {
  const year = new Date(then).getFullYear() === new Date(now).getFullYear() ? undefined : "numeric";
  const form = {
    day: "numeric",
    month: "short",
    year,
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  } as const;
  return new Date(then).toLocaleString(texts.locale, form);
}

/** Formats a time as "08:12", or "21 Nov, 08:12" if it is of another day, with the year if that is another one. */
export function clock(then: number, now: number): string {
  const [at, today] = [new Date(then), new Date(now)];
  const time = at.toLocaleTimeString(texts.locale, { hour: "2-digit", minute: "2-digit" });
  return at.toDateString() === today.toDateString() ? time : moment(then, now).slice(0, -3);
}
