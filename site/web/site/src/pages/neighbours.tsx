import { useQuery } from "@urql/preact";
import type { ArticleQuery } from "../data/gql";
import { Neighbours as Query } from "../data/later-gql";
import { paths } from "../ui/router";
import { filled, texts } from "../ui/strings";
import { Beside } from "./beside";

interface Props {
  article: NonNullable<ArticleQuery["article"]>;
  now: number;
}

/** What else stands first in the first group of an article that is not named after its host. */
export function Neighbours({ article: { id, groups, host }, now }: Props) {
  const name = groups.find((group) => group.name !== host?.name)?.name;
  const known = host?.articlesConnection.nodes ?? [];
  const [{ data }] = useQuery({ query: Query, variables: { group: name ?? "" }, pause: !name });
  if (!name || !data?.group) return null;
  const group = (
    <a dir="auto" href={paths.list("SCORE", name)}>
      {name}
    </a>
  );
  return (
    <Beside
      heading={filled(texts.alsoIn, { group })}
      articles={data.group.articlesConnection.nodes}
      except={[id, ...known.map((article) => article.id)]}
      now={now}
    />
  );
}
