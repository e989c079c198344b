import { useQuery } from "@urql/preact";
import { Beside } from "./beside";
import type { ArticleQuery } from "./gql";
import { Neighbours as Query } from "./later-gql";
import { paths } from "./router";
import { filled, texts } from "./strings";

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
