import type { Client } from "@urql/preact";
import { Follow, Save } from "./later-gql";
import type { Page } from "./page";
import { explainError, explainRefusal } from "./problem";

// What users keep for themselves. Each function sets a state: it can be repeated.

/** Saves an article for the viewer, or drops it. */
export async function save(client: Client, say: Page["say"], article: string, saved: boolean): Promise<void> {
  const { data, error } = await client.mutation(Save, { input: { article, saved } }).toPromise();
  const refused = data?.save?.userErrors[0];
  if (error || refused)
    say(refused ? explainRefusal(refused) : explainError(error as NonNullable<typeof error>));
}

/** Has the viewer follow a group or a user, or ends that. */
export async function follow(
  client: Client,
  say: Page["say"],
  target: string,
  following: boolean,
): Promise<void> {
  const { data, error } = await client.mutation(Follow, { input: { target, following } }).toPromise();
  const refused = data?.follow?.userErrors[0];
  if (error || refused)
    say(refused ? explainRefusal(refused) : explainError(error as NonNullable<typeof error>));
}
