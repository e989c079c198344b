import { useQuery } from "@urql/preact";
import type { RowFragment } from "./gql";
import { Neighbours as Query } from "./later-gql";
import { paths } from "./router";
import { counted, fill, filled, texts } from "./strings";
import { host } from "./text";
import { ago } from "./time";

const most = { groups: 2, articles: 5 };

/** What else stands first in the groups of an article. */
export const Neighbours = ({ article, now }: { article: RowFragment; now: number }) => (
  <>
    {article.groups.slice(0, most.groups).map(({ id, name }) => (
      <Group key={id} name={name} not={article.id} now={now} />
    ))}
  </>
);

function Group({ name, not, now }: { name: string; not: string; now: number }) {
  const [{ data }] = useQuery({ query: Query, variables: { group: name } });
  const others = data?.group?.articlesConnection.nodes.filter(({ id }) => id !== not).slice(0, most.articles);
  if (!others?.length) return null;
  const link = (
    <a dir="auto" href={paths.list("SCORE", name)}>
      {name}
    </a>
  );
  return (
    <section class="neighbours">
      <h2>{filled(texts.alsoIn, { group: link })}</h2>
      <ul>
        {others.map(({ id, number, title, link, votes, createdAt }) => (
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
