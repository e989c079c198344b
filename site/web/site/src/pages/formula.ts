import type { RankBy, RankFormula } from "../data/later-gql";
import type { Rules } from "../data/rank";
import { type Span, spans } from "../ui/router";

/** What the ranking lab ranks by, and which articles. Times are in seconds. */
export interface Formula {
  formula: RankFormula;
  gravity: number;
  halfLife: number;
  voteScore: number;
  span: Span;
}

export const formulas = ["GRAVITY", "HALF_LIFE", "LINEAR", "TOP"] as const satisfies RankFormula[];

export const initial: Formula = {
  formula: "GRAVITY",
  gravity: 1.8,
  halfLife: 21_600,
  voteScore: 432,
  span: "WEEK",
};

// The limits of the API.
const limits = { gravity: [0.1, 5], halfLife: [60, 315_360_000], voteScore: [1, 31_536_000] } as const;
export type Parameter = keyof typeof limits;

/** The parameter of each formula. */
export const parameterOf: Partial<Record<RankFormula, Parameter>> = {
  GRAVITY: "gravity",
  HALF_LIFE: "halfLife",
  LINEAR: "voteScore",
};

/** Reads a formula from the query of an address. What is missing or out of bounds is as in `initial`. */
export function readFormula(search: string): Formula {
  const query = new URLSearchParams(search);
  const result = { ...initial };
  for (const [name, [least, most]] of Object.entries(limits) as [Parameter, readonly [number, number]][]) {
    const value = Number(query.get(name) ?? Number.NaN);
    if (value >= least && value <= most) result[name] = name === "gravity" ? value : Math.round(value);
  }
  const formula = query.get("formula");
  result.formula = formulas.find((each) => each === formula) ?? initial.formula;
  const span = query.get("span");
  result.span = spans.find((each) => each === span) ?? initial.span;
  return result;
}

/** Writes a formula as the query of an address. */
export function writeFormula(by: Formula): string {
  return `?${new URLSearchParams({ ...Object.fromEntries(Object.entries(rankBy(by))), span: by.span } as Record<string, string>)}`;
}

/** Returns the argument `by` of a ranking. */
export function rankBy(by: Formula): RankBy {
  const parameter = parameterOf[by.formula];
  return { formula: by.formula, ...(parameter && { [parameter]: by[parameter] }) };
}

/** Returns the GraphQL document of a ranking. */
export function request(by: Formula): string {
  const argument = Object.entries(rankBy(by)).map(([name, value]) => `${name}: ${value}`);
  return `{
  ranking(by: {${argument.join(", ")}}, span: ${by.span}, first: 25) {
    nodes { id title votes }
  }
}`;
}

/** Returns the command that sends a document. */
export function curl(origin: string, document: string): string {
  const query = document.replace(/\s+/g, " ");
  return `curl -s ${origin}/query -H 'Content-Type: application/json' -d '${JSON.stringify({ query })}'`;
}

/** Returns the settings with which the site itself would rank so, if there are any. */
export function settings({ formula, halfLife, voteScore }: Formula): string | undefined {
  if (formula === "HALF_LIFE") return `FRONTPAGE_RANKING=halflife:${halfLife}s`;
  if (formula === "LINEAR") return `FRONTPAGE_RANKING=linear FRONTPAGE_VOTE_SCORE=${voteScore}`;
}

/** The votes of the new article that the curves of the plot compare with. */
export const newVotes = 10;

/** Returns the votes that an article of an age in hours needs to stand level with a new one of `newVotes`. */
export function votesNeeded({ formula, gravity, halfLife, voteScore }: Formula, age: number): number {
  switch (formula) {
    case "GRAVITY":
      return 1 + (newVotes - 1) * ((age + 2) / 2) ** gravity;
    case "HALF_LIFE":
      return (1 + newVotes) * 2 ** ((age * 3600) / halfLife) - 1;
    case "LINEAR":
      return newVotes + (age * 3600) / voteScore;
    default:
      return newVotes;
  }
}

/** The same by the site's own rule; infinite if no number of votes is enough. */
export function votesNeededOnSite({ ranking, voteScore, rankCap, halfLife }: Rules, age: number): number {
  const formula = ranking === "HALF_LIFE" ? "HALF_LIFE" : "LINEAR";
  const votes = votesNeeded({ ...initial, formula, voteScore, halfLife }, age);
  if (ranking !== "CAPPED") return votes;
  const needed = Math.min(newVotes * voteScore, rankCap) + age * 3600;
  return needed > rankCap ? Number.POSITIVE_INFINITY : needed / voteScore;
}
