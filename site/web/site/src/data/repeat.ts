import type { Client } from "@urql/preact";
import { navigate, paths } from "../ui/router";
import { texts } from "../ui/strings";
import { dropDraft } from "./draft";
import { Vote } from "./gql";
import { Delete, Edit, Post } from "./later-gql";
import { type Document, execute, keep, type Name, unanswered } from "./mutations";
import { explainError, explainRefusal } from "./problem";

const documents = { Vote, Post, Edit, Delete };
// Later, a repeated vote could replace one from another device, and a repeated post be published twice.
const lifetime = 60 * 60 * 1000; // milliseconds

/** Repeats the mutations of a viewer that the previous page of this window left unanswered, and says how they ended. */
export async function repeat(client: Client, viewer: string, say: (message: string) => void): Promise<void> {
  const mutations = unanswered().filter((mutation) => [viewer, ""].includes(mutation.viewer));
  const young = mutations.filter(({ sentAt }) => Date.now() - sentAt < lifetime);
  keep(young);
  if (young.length < mutations.length) say(texts.allInDoubt);
  for (const mutation of young) {
    const document = documents[mutation.name] as Document<Name>;
    const { data, error } = await execute(client, document, { ...mutation, viewer });
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
