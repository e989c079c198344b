import type { RowFragment } from "../data/gql";
import { paths } from "../ui/router";
import { counted, filled, texts } from "../ui/strings";

/** Says that a link was posted before: with an article, unless that is deleted. */
export function Duplicate({ article }: { article: RowFragment | null }) {
  if (!article) return <>{texts.deletedLink}</>;
  const { title, number, poster, votes } = article;
  return (
    <>
      {filled(texts.knownLink, {
        article: (
          <a dir="auto" href={paths.article(number)}>
            {title}
          </a>
        ),
        user: <bdi>{poster.name}</bdi>,
        votes: counted(votes, texts.votes),
      })}
    </>
  );
}
