const units = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** Seconds in the largest unit of which there is one, rounded down: "3 hours". */
function largest(seconds: number): string | undefined {
  for (const [unit, size] of units) {
    const count = Math.floor(seconds / size);
    if (count > 0) return `${count} ${unit}${count > 1 ? "s" : ""}`;
  }
}

/** "3 hours ago". What is less than a minute old, or ahead of this machine's clock, is "just now". */
export function ago(then: number, now: number): string {
  const time = largest((now - then) / 1000);
  return time ? `${time} ago` : "just now";
}

/** When votes on an article are not accepted any more, Unix milliseconds: the last second counts. */
export function closing(article: { votingEndsAt: string }): number {
  return Date.parse(article.votingEndsAt) + 1000;
}

/** "4 days left to vote", or that voting has ended. */
export function left(end: number, now: number): string {
  if (now >= end) return "voting has ended";
  return `${largest((end - now) / 1000) ?? "less than a minute"} left to vote`;
}

/** A length of time in all its units: "1 d 15 h 21 min", "45 s". */
export function span(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.abs(Math.round(seconds));
  for (const [name, size] of [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ] as const) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${name}`);
    rest -= count * size;
  }
  return parts.join(" ") || "0 s";
}

/** "21 Nov, 09:12:03", with the year when that is not now's. */
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
  return new Date(then).toLocaleString("en-GB", form);
}
