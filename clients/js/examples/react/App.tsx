// A list of articles with React and urql: pages, votes that show at once, live counts.
import { cacheExchange } from "@urql/exchange-graphcache";
import { Changed, type ChangedResult, following, Vote, type VoteFields, type VoteResult, Votes, voteFields, votingFetch } from "frontpage-client";
import { distinctMutations, graphcache } from "frontpage-client/urql";
import { useMemo, useState } from "react";
import { Client, fetchExchange, Provider, subscriptionExchange, useMutation, useQuery, useSubscription } from "urql";

interface Article extends VoteFields {
  title: string;
}

interface FrontResult {
  articlesConnection: { nodes: Article[]; pageInfo: { endCursor: string | null; hasNextPage: boolean } } | null;
}

const Front = `query Front($after: String) {
  articlesConnection(order: TIME, first: 10, after: $after) {
    nodes { title ...VoteFields }
    pageInfo { endCursor hasNextPage }
  }
} ${voteFields}`;

export function createClient(url: string, headers: Record<string, string>): Client {
  const votes = new Votes();
  return new Client({
    url,
    fetch: votingFetch(votes),
    fetchOptions: { headers },
    exchanges: [
      distinctMutations,
      cacheExchange(graphcache(votes)),
      fetchExchange,
      subscriptionExchange({ forwardSubscription: following({ url, headers, votes }) }),
    ],
  });
}

function Row({ article, say }: { article: Article; say(text: string | undefined): void }) {
  const [, vote] = useMutation<VoteResult>(Vote);
  const { id, title, votes, viewerVote } = article;
  const press = async () => {
    const { data, error } = await vote({ input: { article: id, direction: viewerVote === "UP" ? "NONE" : "UP" } });
    say(data?.vote?.userErrors[0]?.message ?? error?.message);
  };
  return (
    <li>
      <button type="button" aria-pressed={viewerVote === "UP"} onClick={press}>
        {votes}
      </button>{" "}
      {title}
    </li>
  );
}

function List() {
  const [after, setAfter] = useState<string | null>(null);
  const [said, say] = useState<string>();
  const [{ data }] = useQuery<FrontResult>({ query: Front, variables: { after } });
  const { nodes = [], pageInfo } = data?.articlesConnection ?? {};
  const watched = nodes.slice(-100);
  const ids = watched.map(({ id }) => id);
  // The revisions are those at the beginning: the subscription keeps them up to date.
  const variables = useMemo(() => ({ ids, revisions: watched.map(({ revision }) => revision) }), [ids.join()]);
  useSubscription<ChangedResult>({ query: Changed, variables, pause: ids.length === 0 });
  return (
    <>
      <ol>
        {nodes.map((article) => (
          <Row key={article.id} article={article} say={say} />
        ))}
      </ol>
      {pageInfo?.hasNextPage && (
        <button type="button" className="more" onClick={() => setAfter(pageInfo.endCursor)}>
          More
        </button>
      )}
      <p role="status">{said}</p>
    </>
  );
}

export const App = ({ client }: { client: Client }) => (
  <Provider value={client}>
    <List />
  </Provider>
);
