import { Changed, type ChangedResult, Vote, type VoteResult } from "./documents.ts";
import { votingFetch } from "./fetch.ts";
import { follow, type Live } from "./live.ts";
import type { Direction } from "./rule.ts";
import { Votes } from "./votes.ts";

/** Why a request has no data. */
export class GraphQLFailure extends Error {
  readonly errors: { message: string; extensions?: { code?: string } }[];
  readonly status: number;

  constructor(errors: GraphQLFailure["errors"], status: number) {
    super(errors.map(({ message }) => message).join("; "));
    this.errors = errors;
    this.status = status;
  }
}

export interface Client {
  votes: Votes;
  /** Executes a query or a mutation. Rejects if there is no data, or only null because of errors. */
  execute<D>(query: string, variables?: Record<string, unknown>): Promise<D>;
  /** Votes. Resolves with the message if the vote is refused by a rule, and with nothing once it is counted. */
  vote(id: string, direction: Direction): Promise<string | undefined>;
  /** Keeps the counts of up to 100 articles up to date. Returns a function that ends that. */
  watch(ids: string[], removed?: (id: string) => void): () => void;
}

/** Connects to a site without a GraphQL client. `live.url` is that of its endpoint. */
export function connect(live: Omit<Live, "votes"> & { votes?: Votes }): Client {
  const { url, headers = {}, votes = new Votes() } = live;
  const by = votingFetch(votes, live.fetch);
  const execute = async <D>(query: string, variables: Record<string, unknown> = {}): Promise<D> => {
    const response = await by(url, {
      method: "POST",
      headers: {
        ...(typeof headers === "function" ? headers() : headers),
        Accept: "application/graphql-response+json",
        "Content-Type": "application/json",
      },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json().catch(() => ({}));
    if (data && !(errors && Object.values(data).every((field) => field === null))) return data;
    throw new GraphQLFailure(errors ?? [{ message: response.statusText }], response.status);
  };
  return {
    votes,
    execute,
    async vote(article, direction) {
      const { vote } = await execute<VoteResult>(Vote, { input: { article, direction } });
      return vote?.userErrors[0]?.message;
    },
    watch(ids, removed) {
      const revisions = ids.map((id) => votes.shown(id)?.revision ?? -1);
      const next = ({ data }: { data?: ChangedResult }) => {
        if (data?.articleChanged.deletedAt) removed?.(data.articleChanged.id);
      };
      return follow({ ...live, votes }, { query: Changed, variables: { ids, revisions } }, { next });
    },
  };
}
