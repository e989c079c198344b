// The front page with React and urql: pages, votes that show at once, live counts.
import { cacheExchange } from "@urql/exchange-graphcache";
import { following, Votes, votingFetch } from "frontpage-client";
import { distinctMutations, graphcache } from "frontpage-client/urql";
import { useMemo, useState } from "react";
import { Client, fetchExchange, Provider, subscriptionExchange, useMutation, useQuery, useSubscription } from "urql";
import { ChangedDocument, FrontDocument, type RowFragment, VoteDocument } from "./gql/graphql";

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

function Row({ article, say }: { article: RowFragment; say(text: string | undefined): void }) {
  const [, vote] = useMutation(VoteDocument);
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
  const [after, setAfter] = useState<string | null>();
  const [said, say] = useState<string>();
  const [{ data }] = useQuery({ query: FrontDocument, variables: { after } });
  const { nodes = [], pageInfo } = data?.articlesConnection ?? {};
  const watched = nodes.slice(-100); // as many as one subscription takes
  const ids = watched.map(({ id }) => id);
  // The revisions are those at the beginning: the subscription keeps them up to date.
  const variables = useMemo(() => ({ ids, revisions: watched.map(({ revision }) => revision) }), [ids.join()]);
  useSubscription({ query: ChangedDocument, variables, pause: ids.length === 0 });
  return (
    <>
      <ol>
        {nodes.map((article) => !article.deletedAt && <Row key={article.id} article={article} say={say} />)}
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
