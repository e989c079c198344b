import { useQuery } from "@urql/preact";
import { groupNames } from "../data/draft";
import { ArticleByLink, GroupRules, Similar } from "../data/typed-gql";
import { useSettled } from "../ui/hooks";
import { paths } from "../ui/router";
import { counted, fill, texts } from "../ui/strings";
import { Duplicate } from "./duplicate";
import { Rules } from "./group";

// What the submit form adds to what is typed. It is a script of its own, which is loaded once the form is shown: the form works
// without it.

const shortest = 4; // characters of a title that is asked about
const longest = 200;
const maxGroups = 10; // of an article

/**
 * Articles with words of the title that is typed: their number and the best one in a line that is always there, so that
 * the form does not move, and all on request. Their pages open in another tab: the form keeps what was typed.
 */
export function SimilarArticles({ text }: { text: string }) {
  const title = useSettled(text.trim());
  const length = [...title].length;
  const [{ data }] = useQuery({
    query: Similar,
    variables: { title },
    pause: length < shortest || length > longest,
    requestPolicy: "cache-and-network",
  });
  const articles = (title && data?.similarArticles?.map(({ node }) => node)) || [];
  if (!articles[0]) return null;
  return (
    <details>
      <summary>
        {counted(articles.length, texts.similarArticles)}: <bdi>{articles[0].title}</bdi>
      </summary>
      <ul>
        {articles.map(({ id, number, title }) => (
          <li key={id}>
            <a dir="auto" href={paths.article(number)} target="_blank" rel="noopener">
              {title}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The rules of the groups that are chosen. */
export function RulesOfGroups({ text }: { text: string }) {
  const names = useSettled(groupNames(text.toLowerCase()).slice(0, maxGroups).join(" "));
  const ids = names.split(" ").map((name) => `group:${name}`);
  const [{ data }] = useQuery({ query: GroupRules, variables: { ids }, pause: !names });
  return (
    <>
      {names &&
        data?.nodes?.map(
          (group) =>
            group &&
            "rules" in group &&
            group.rules.length > 0 && (
              <div key={group.id} class="about rules">
                {fill(texts.rulesOf, { group: group.name })}
                <Rules rules={group.rules} />
              </div>
            ),
        )}
    </>
  );
}

/** Says that the link was posted before, while it is typed. */
export function Known({ text }: { text: string }) {
  const link = useSettled(text.trim());
  const [{ data }] = useQuery({
    query: ArticleByLink,
    variables: { link },
    pause: !/^https?:\/\/[^/\s]+\.[^\s]+$/i.test(link),
    requestPolicy: "cache-and-network",
  });
  const article = link === text.trim() && data?.articleByLink;
  return (
    <p role="status" class="about">
      {article && <Duplicate article={article} />}
    </p>
  );
}
