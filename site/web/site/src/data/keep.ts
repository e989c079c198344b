import type { Client, OperationResult } from "@urql/preact";
import { Follow, Save } from "./later-gql";
import { explainError, explainRefusal, type UserError } from "./problem";

// What users keep for themselves. Each function sets a state: it can be repeated.

/** Saves an article for the viewer, or drops it. */
export async function save(
  client: Client,
  say: (message: string) => void,
  article: string,
  saved: boolean,
): Promise<void> {
  const result = await client.mutation(Save, { input: { article, saved } });
  tell(say, result, result.data?.save);
}

/** Has the viewer follow a group or a user, or ends that. */
export async function follow(
  client: Client,
  say: (message: string) => void,
  target: string,
  following: boolean,
): Promise<void> {
  const result = await client.mutation(Follow, { input: { target, following } });
  tell(say, result, result.data?.follow);
}

/** Says why a change was not made, if it was not. */
function tell(
  say: (message: string) => void,
  { error }: OperationResult,
  payload?: { userErrors: UserError[] } | null,
) {
  const refused = payload?.userErrors[0];
  if (refused) say(explainRefusal(refused));
  else if (error) say(explainError(error));
}
