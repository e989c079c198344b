import { type Client, type DocumentInput, type OperationResult, useClient } from "@urql/preact";
import { useEffect, useState } from "preact/hooks";
import { askToSignIn } from "./asking";
import {
  Delete,
  type DeleteArticleInput,
  type DeleteMutation,
  Edit,
  type EditArticleInput,
  type EditMutation,
  Post,
  type PostInput,
  type PostMutation,
  Vote,
  type VoteInput,
  type VoteMutation,
} from "./gql";
import { usePage } from "./page";
import { explainError, explainRefusal } from "./problem";
import { inOrder, isLeaving } from "./requests";
import { navigate, paths } from "./router";
import { dropDraft, windowStorage } from "./storage";
import { texts } from "./strings";
import { randomKey } from "./text";

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

type Name = keyof Inputs;
type Result<N extends Name> = Pick<OperationResult<Results[N]>, "data" | "error">;

/** A mutation that the server has not answered. It is safe to repeat. */
interface Mutation<N extends Name = Name> {
  id: string;
  name: N;
  input: Inputs[N];
  /** Empty for the vote of a visitor who has yet to sign in. */
  viewer: string;
  /** Unix milliseconds. */
  sentAt: number;
}

const documents = { Vote, Post, Edit, Delete };
const storageKey = "frontpage.unanswered";
// Later, a repeated vote could replace one from another device, and a repeated post be published twice.
const lifetime = 60 * 60 * 1000; // milliseconds

/** Returns a function that executes a mutation, and asks anonymous visitors to sign in instead. */
export function useSend<N extends Name>(name: N) {
  const client = useClient();
  const { identify } = usePage();
  const [sending, setSending] = useState(false);
  const send = async (input: Inputs[N]): Promise<Result<N>> => {
    setSending(true);
    const { site, viewer = "", error } = await identify();
    const mutation = { id: randomKey(), name, input, viewer, sentAt: Date.now() };
    const result: Result<N> = viewer ? await execute(client, mutation) : { error };
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

/**
 * Repeats the mutations that were unanswered when the user left the previous page of this window: they may
 * not have arrived. Reports whether that is done. What is read before it may lack their effects.
 */
export function useRepeat(viewer: string | undefined, say: (message: string) => void): boolean {
  const client = useClient();
  const [done, setDone] = useState(() => !isUnanswered());
  useEffect(() => {
    if (viewer && isUnanswered()) void repeat(client, viewer, say).then(() => setDone(true));
  }, [viewer]);
  return done;
}

async function repeat(client: Client, viewer: string, say: (message: string) => void): Promise<void> {
  const mutations = unanswered().filter((mutation) => [viewer, ""].includes(mutation.viewer));
  const young = mutations.filter(({ sentAt }) => Date.now() - sentAt < lifetime);
  keep(young);
  if (young.length < mutations.length) say(texts.allInDoubt);
  for (const mutation of young) {
    const { data, error } = await execute(client, { ...mutation, viewer });
    const payload: { userErrors: { code: string; message: string }[] } | null | undefined = Object.values(
      data ?? {},
    ).find((field) => field?.userErrors);
    const refusal = payload?.userErrors[0];
    if (refusal) say(`${explainRefusal(refusal)} ${texts.inDoubt[mutation.name]}`);
    else if (error) say(`${explainError(error)} ${texts.inDoubt[mutation.name]}`);
    else if (mutation.name === "Delete") say(texts.hasDeleted);
    else if (mutation.name === "Edit") say(texts.hasEdited);
    else if (data && "post" in data && data.post?.article) {
      dropDraft();
      say(texts.hasPosted);
      if (location.pathname === "/submit") navigate(paths.article(data.post.article.number), "replace");
    }
  }
}

async function execute<N extends Name>(client: Client, mutation: Mutation<N>): Promise<Result<N>> {
  const subject = subjectOf(mutation);
  keep([...unanswered().filter((other) => subjectOf(other) !== subject), mutation]);
  const document = documents[mutation.name] as DocumentInput<Results[N], { input: Inputs[N] }>;
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

function unanswered(): Mutation[] {
  return JSON.parse(windowStorage.get(storageKey) ?? "[]");
}

function keep(mutations: Mutation[]): void {
  windowStorage.set(storageKey, JSON.stringify(mutations));
}
