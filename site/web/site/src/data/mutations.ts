import { type Client, type DocumentInput, type OperationResult, useClient } from "@urql/preact";
import { useState } from "preact/hooks";
import { windowStorage } from "../ui/storage";
import { randomKey } from "../ui/text";
import { askToSignIn } from "./asking";
import type { VoteInput, VoteMutation } from "./gql";
import type {
  DeleteArticleInput,
  DeleteMutation,
  EditArticleInput,
  EditMutation,
  PostInput,
  PostMutation,
} from "./later-gql";
import { usePage } from "./page";
import { inOrder, isLeaving } from "./requests";

interface Inputs {
  Vote: VoteInput;
  Post: PostInput;
  Edit: EditArticleInput;
  Delete: DeleteArticleInput;
}

interface Results {
  Vote: VoteMutation;
  Post: PostMutation;
  Edit: EditMutation;
  Delete: DeleteMutation;
}

export type Name = keyof Inputs;
export type Document<N extends Name> = DocumentInput<Results[N], { input: Inputs[N] }>;
type Result<N extends Name> = Pick<OperationResult<Results[N]>, "data" | "error">;

/** A mutation that the server has not answered. It is safe to repeat. */
export interface Mutation<N extends Name = Name> {
  id: string;
  name: N;
  input: Inputs[N];
  /** Empty for the vote of a visitor who has yet to sign in. */
  viewer: string;
  /** Unix milliseconds. */
  sentAt: number;
}

const storageKey = "frontpage.unanswered";

/** Returns a function that executes a mutation, and asks anonymous visitors to sign in instead. */
export function useSend<N extends Name>(name: N, document: Document<N>) {
  const client = useClient();
  const { identify } = usePage();
  const [sending, setSending] = useState(false);
  const send = async (input: Inputs[N]): Promise<Result<N>> => {
    setSending(true);
    const { site, viewer = "", error } = await identify();
    const mutation = { id: randomKey(), name, input, viewer, sentAt: Date.now() };
    const result: Result<N> = viewer ? await execute(client, document, mutation) : { error };
    setSending(false);
    if (!viewer && !error) {
      if (name === "Vote") keep([mutation]); // it is cast once the visitor has signed in
      askToSignIn(site);
    }
    return result;
  };
  return { send, sending };
}

/** Reports whether mutations of the previous page of this window are unanswered. */
export const isUnanswered = () => unanswered().length > 0;

/** Executes a mutation, which is unanswered until then. */
export async function execute<N extends Name>(
  client: Client,
  document: Document<N>,
  mutation: Mutation<N>,
): Promise<Result<N>> {
  const subject = subjectOf(mutation);
  keep([...unanswered().filter((other) => subjectOf(other) !== subject), mutation]);
  const result = await client
    .mutation(document, { input: mutation.input }, { fetch: inOrder(subject) })
    .toPromise();
  // A page that is left does not learn the outcome: the browser reports an error.
  if (!isLeaving()) keep(unanswered().filter(({ id }) => id !== mutation.id));
  return result;
}

/** Returns what a mutation is about: of several about the same, only the last one matters. */
const subjectOf = ({ name, input }: Mutation) =>
  `${name} ${"article" in input ? input.article : input.idempotencyKey}`;

export function unanswered(): Mutation[] {
  return JSON.parse(windowStorage.get(storageKey) ?? "[]");
}

export function keep(mutations: Mutation[]): void {
  windowStorage.set(storageKey, JSON.stringify(mutations));
}
