import { useQuery } from "@urql/preact";
import type { RowFragment } from "./gql";
import { type NeighboursQuery, Neighbours as Query } from "./later-gql";
import { paths } from "./router";
import { counted, fill, filled, texts } from "./strings";
import { host } from "./text";
import { ago } from "./time";

const maxArticles = 5;

/** What else stands first in the first two groups of an article. */
export function Neighbours({ article: { id, groups }, now }: { article: RowFragment; now: number }) {
  const answers = [useGroup(groups[0]?.name), useGroup(groups[1]?.name)];
  // The first group would move the second one.
  if (!answers.every(({ complete }) => complete)) return null;
  return (
    <>
      {answers.map(({ name, articles }) => (
        <Group key={name} name={name} articles={articles.filter((other) => other.id !== id)} now={now} />
      ))}
    </>
  );
}

function useGroup(name = "") {
  const [{ data, error }] = useQuery({ query: Query, variables: { group: name }, pause: !name });
  return { name, articles: data?.group?.articlesConnection.nodes ?? [], complete: !name || data || error };
}

interface GroupProps {
  name: string;
  articles: NonNullable<NeighboursQuery["group"]>["articlesConnection"]["nodes"];
  now: number;
}

function Group({ name, articles, now }: GroupProps) {
  if (articles.length === 0) return null;
  const link = (
    <a dir="auto" href={paths.list("SCORE", name)}>
      {name}
    </a>
  );
  return (
    <section class="neighbours">
      <h2>{filled(texts.alsoIn, { group: link })}</h2>
      <ul>
        {articles.slice(0, maxArticles).map(({ id, number, title, link, votes, createdAt }) => (
          <li key={id}>
            <a class="title" dir="auto" href={paths.article(number)}>
              {title}
            </a>{" "}
            {link && (
              <span class="host" dir="auto">
                {host(link)}
              </span>
            )}{" "}
            <span class="about">
              {fill(texts.votesAndAge, {
                votes: counted(votes, texts.votes),
                time: ago(Date.parse(createdAt), now),
              })}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
