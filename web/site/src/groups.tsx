import { useQuery } from "@urql/preact";
import { useState } from "preact/hooks";
import { Groups } from "./gql";
import { useTitle } from "./page";
import { navigate, paths, useScroll } from "./router";
import { Empty, Failed, Skeleton } from "./states";
import { formatNumber } from "./text";

export function GroupsPage() {
  useTitle("Groups");
  return (
    <>
      <header class="heading">
        <h1>Groups</h1>
        <p>Each group has its own ranking.</p>
      </header>
      <Part />
    </>
  );
}

/** Up to 100 groups, and the next ones on request. */
function Part({ after }: { after?: string }) {
  const [more, setMore] = useState(false);
  const [{ data, error }, execute] = useQuery({
    query: Groups,
    variables: { after },
    requestPolicy: "cache-and-network",
  });
  const page = data?.groups;
  useScroll(page != null && !after);
  if (!page) {
    return error ? (
      <Failed error={error} retry={() => execute({ requestPolicy: "network-only" })} />
    ) : (
      <Skeleton rows={4} />
    );
  }
  const { nodes, pageInfo } = page;
  if (nodes.length === 0 && !after) {
    return (
      <Empty title="No groups yet">
        <p>
          A group is created by its first article: <a href="/submit">submit one</a>.
        </p>
      </Empty>
    );
  }
  return (
    <>
      {pageInfo.hasNextPage && !after && <Find />}
      <ul class="groups">
        {nodes.map((group) => (
          <li key={group.id}>
            <a href={paths.list("SCORE", group.name)}>
              <strong>{group.name}</strong>{" "}
              <span>
                {formatNumber(group.articleCount)}
                <span class="unseen"> articles</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage &&
        (more ? (
          <Part after={pageInfo.endCursor ?? undefined} />
        ) : (
          <button type="button" class="more" onClick={() => setMore(true)}>
            More groups
          </button>
        ))}
    </>
  );
}

/** A form that opens a group by name, for sites with too many groups to list. */
function Find() {
  const submit = (event: Event) => {
    event.preventDefault();
    const name = new FormData(event.currentTarget as HTMLFormElement).get("name") as string;
    navigate(paths.list("SCORE", name.trim().toLowerCase()));
  };
  return (
    <form class="find" onSubmit={submit}>
      <label for="find">Go to group</label>
      <input
        id="find"
        name="name"
        required
        pattern=".*\S.*"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
      />
      <button class="button" type="submit">
        Go
      </button>
    </form>
  );
}
