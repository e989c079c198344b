import type { Direction, Tally } from "./rule.ts";
import { articleId, type Outcome, tallyOf, type Votes } from "./votes.ts";

interface Request {
  query?: string;
  variables?: Record<string, unknown>;
}

interface Ballot {
  article: string;
  direction: Direction;
}

const retried = new Set([429, 502, 503, 504]);

/**
 * Returns a fetch that gives a GraphQL client optimistic votes: the responses have the counts to show. Of several votes on
 * one article, one at a time is on its way, and a vote is sent again until the server answers.
 *
 * A mutation is a vote if `vote` is its only field, and its argument is a variable, or an object of variables and
 * constants. All mutations on one article should select the same: those that a later one replaces get its answer.
 */
export function votingFetch(votes: Votes, by: typeof fetch = (...args) => fetch(...args)): typeof fetch {
  const send = async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const response = await by(input, init);
    if (!/json/.test(response.headers.get("Content-Type") ?? "")) return { response };
    const body = await response.json();
    return { response, body };
  };
  const answer = ({ response, body }: Awaited<ReturnType<typeof send>>) => {
    if (body === undefined) return response;
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    for (const name of ["Content-Encoding", "Content-Length"]) headers.delete(name);
    const text =
      body && typeof body === "object" && "data" in body ? { ...body, data: votes.merge(body.data) } : body;
    return new Response(JSON.stringify(text), { status, statusText, headers });
  };
  return async (input, init) => {
    const { body } = init ?? {};
    const ballot = typeof body === "string" && body.startsWith("{") ? ballotOf(JSON.parse(body)) : undefined;
    if (!ballot) return answer(await send(input, init));
    // A vote that was made is not taken back by leaving the page that has made it: there is no signal.
    const { signal: _, ...rest } = init as RequestInit;
    return answer(
      await votes.vote(ballot.article, ballot.direction, async () => {
        const result = await send(input, rest);
        if (retried.has(result.response.status)) throw new Error(result.response.statusText);
        return { result, ...judge(result.body) };
      }),
    );
  };
}

/** Returns the outcome of a vote from its response: refused unless there is a payload without user errors. */
export function judge(
  body: { data?: Record<string, unknown> | null } | undefined,
): Omit<Outcome<unknown>, "result"> {
  const payload = Object.values(body?.data ?? {})[0] as
    | { article?: Record<string, unknown> | null; userErrors?: unknown[] }
    | null
    | undefined;
  const tally: Tally | undefined = payload?.article ? tallyOf(payload.article) : undefined;
  return { tally, refused: !payload || (payload.userErrors?.length ?? 0) > 0 };
}

/** Returns the root fields of a document, and nothing in them. */
function outline(query: string): string {
  let text = query.replace(/"(?:[^"\\]|\\.)*"|#.*/g, "");
  for (const inner of [/()\([^()]*\)/g, /(\{[^{}]*)\{[^{}]*\}/g])
    for (let before = ""; before !== text; ) [before, text] = [text, text.replace(inner, "$1")];
  return text;
}

const onlyVotes = /^\s*mutation\b[^{]*\{\s*(?:__typename\s)?\s*(?:\w+\s*:\s*)?vote\s*\}/m;
const field = /\bvote\s*\(\s*input\s*:\s*(?:\$(\w+)|\{([^{}]*)\})\s*\)/;

/** Returns the vote that a GraphQL request casts. Undefined if it does something else. */
export function ballotOf({ query, variables = {} }: Request): Ballot | undefined {
  let input: unknown;
  if (query === undefined) {
    input = variables.input; // a persisted query, by its hash
  } else {
    const [, name, members = ""] = field.exec(query) ?? [];
    if (!onlyVotes.test(outline(query))) return;
    input = name ? variables[name] : members && read(members, variables);
  }
  const { article, direction = "UP", ...others } = (input ?? {}) as Record<string, unknown>;
  if (article === undefined || !/^(UP|DOWN|NONE)$/.test(String(direction)) || Object.keys(others).length > 0)
    return;
  return { article: articleId(article), direction: direction as Direction };
}

/** Reads the members of an input object. */
function read(members: string, variables: Record<string, unknown>): Record<string, unknown> {
  const found = members.matchAll(/(\w+)\s*:\s*(?:\$(\w+)|"([^"]*)"|(\w+))/g);
  return Object.fromEntries(
    [...found].map(([, key, variable, text, word]) => [key, variable ? variables[variable] : (text ?? word)]),
  );
}
