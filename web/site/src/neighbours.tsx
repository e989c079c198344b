import { useQuery } from "@urql/preact";
import { Beside } from "./beside";
import type { RowFragment } from "./gql";
import { Neighbours as Query } from "./later-gql";
import { paths } from "./router";
import { filled, texts } from "./strings";

/** What else stands first in the first two groups of an article. */
export function Neighbours({ article: { id, groups }, now }: { article: RowFragment; now: number }) {
  const answers = [useGroup(groups[0]?.name), useGroup(groups[1]?.name)];
  // The first group would move the second one.
  if (!answers.every(({ complete }) => complete)) return null;
  return (
    <>
      {answers.map(({ name, articles }) => (
        <Beside key={name} heading={heading(name)} articles={articles} except={id} now={now} />
      ))}
    </>
  );
}

function heading(name: string) {
  const group = (
    <a dir="auto" href={paths.list("SCORE", name)}>
      {name}
    </a>
  );
  return filled(texts.alsoIn, { group });
}

function useGroup(name = "") {
  const [{ data, error }] = useQuery({ query: Query, variables: { group: name }, pause: !name });
  return { name, articles: data?.group?.articlesConnection.nodes ?? [], complete: !name || data || error };
}
