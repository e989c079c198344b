import { useQuery } from "@urql/preact";
import { useEffect } from "preact/hooks";
import type { RowFragment } from "./gql";
import { Standing as StandingQuery } from "./later-gql";
import { usePage } from "./page";
import { counted } from "./text";

const settling = 1000; // milliseconds

/** Says which places an article reached, and how many votes others take. */
export function Standing({ article }: { article: RowFragment }) {
  const { connections } = usePage();
  const [{ data }, execute] = useQuery({ query: StandingQuery, variables: { id: article.id } });
  useEffect(() => {
    const timer = setTimeout(() => execute({ requestPolicy: "network-only" }), settling);
    return () => clearTimeout(timer);
  }, [article.votes, connections]);
  const standing = data?.article;
  if (!standing) return null;
  const { first, tenth, thirtieth } = standing;
  const goals: [string, number | null][] = [
    ["The first place", first],
    ["The first 10", tenth],
    ["The first 30", thirtieth],
  ];
  return (
    <dl class="standing">
      {goals.map(([name, votes]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{goal(votes)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What has to happen until a rank is reached. */
function goal(votes: number | null): string {
  if (votes === null) return "out of reach";
  return votes > 0 ? counted(votes, "more vote") : "reached";
}
