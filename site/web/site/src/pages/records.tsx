import { type CombinedError, type DocumentInput, useClient } from "@urql/preact";
import { useEffect, useState } from "preact/hooks";
import {
  DeletedItems,
  type DeletedItemsQuery,
  DeniedUsers,
  type DeniedUsersQuery,
  EndDenial,
  Log,
  type LogQuery,
  type RemovalGround,
} from "../data/moderation-gql";
import { usePage } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { useNow } from "../ui/hooks";
import { paths } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { fill, texts } from "../ui/strings";
import { ago, clock, moment } from "../ui/time";
import {
  currentCase,
  focusReason,
  Reason,
  saidWhy,
  Title,
  useDecisions,
  useKeys,
  type Why,
} from "./deciding";
import { Failed } from "./failed";

const past = "1970-01-01T00:00:00.000Z"; // ends a denial
const erased = "deleted user"; // whose denial the API ends by the name that was erased

interface Connection {
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/** Reads a list from its start, and on at each call of `more`. */
function useParts<Data, Variables extends { after?: string | null }, C extends Connection>(
  query: DocumentInput<Data, Variables>,
  connectionOf: (data: Data) => C | null,
  fixed?: Omit<Variables, "after">,
) {
  const client = useClient();
  const [parts, setParts] = useState<C[]>([]);
  const [error, setError] = useState<CombinedError>();
  const last = parts.at(-1)?.pageInfo;
  const more = async () => {
    const variables = { ...fixed, after: last?.endCursor } as Variables;
    const { data, error } = await client
      .query(query, variables, { requestPolicy: "network-only" })
      .toPromise();
    const part = data && connectionOf(data);
    setError(part ? undefined : error);
    if (part) setParts((before) => [...before, part]);
  };
  useEffect(() => void more(), []);
  return { parts, error, more, isMore: last?.hasNextPage };
}

/** What was deleted, the latest first. */
export function RemovedArticles() {
  const { say } = usePage();
  const { explain, putBack } = useDecisions();
  const { parts, error, more, isMore } = useParts(
    DeletedItems,
    ({ deletedItems }: DeletedItemsQuery) => deletedItems,
    { missingReason: false },
  );
  const [changed, setChanged] = useState<Record<string, string>>({});
  const now = useNow();
  const articles = parts.flatMap(({ edges }) =>
    edges.flatMap(({ article, by }) => (article ? [{ ...article, by }] : [])),
  );
  const isOpen = (id: string) => articles.some((article) => article.id === id) && !changed[id];
  /** Why it was deleted. Of one that a moderator changed before that, `removal` may be older. */
  const reasonOf = ({ removal, deletedAt }: (typeof articles)[number]) =>
    removal && Date.parse(removal.at) >= Date.parse(deletedAt ?? "") ? removal : undefined;
  const needsReason = (id: string) => {
    const article = articles.find((article) => article.id === id);
    return isOpen(id) && article && article.by !== article.poster.name && !reasonOf(article);
  };

  const change = (id: string, what: string) => setChanged((before) => ({ ...before, [id]: what }));
  const restore = async (id: string) => {
    if (!id || changed[id] === texts.hasRestored || (await putBack(id)) !== "done") return;
    change(id, texts.hasRestored);
    say(texts.hasRestored);
  };
  const give = async (id: string, why: Why) => {
    if ((await explain(id, why)) === "done") change(id, saidWhy(why.ground, why.reason, why.basis));
  };
  const giveCurrent = (ground: RemovalGround) => {
    const id = currentCase();
    if (needsReason(id)) void give(id, { ground });
  };
  useKeys({
    r: () => void restore(currentCase()),
    1: () => giveCurrent("RULES"),
    2: () => giveCurrent("ILLEGAL"),
    3: () => focusReason(currentCase()),
  });

  if (parts.length === 0) return error ? <Failed error={error} retry={more} /> : <Skeleton />;
  if (articles.length === 0) return <Empty title={texts.nothingToDo} />;
  return (
    <div class="list">
      <ol>
        {articles.map((article) => {
          const { id, title, link, deletedAt, by } = article;
          const removal = reasonOf(article);
          const time = deletedAt ? ago(Date.parse(deletedAt), now) : "";
          return (
            <li key={id} class="case" data-case={id}>
              <Title id={id} title={title} link={link} />
              <p>
                {fill(texts.removedBy, { time, user: by })}
                {removal && ` · ${saidWhy(removal.ground, removal.reason, removal.basis)}`}
              </p>
              <div class="actions">
                <span role="status">{changed[id]}</span>
                {changed[id] !== texts.hasRestored && (
                  <button type="button" onClick={() => restore(id)}>
                    {texts.restore}
                  </button>
                )}
                {needsReason(id) && <Reason id={id} title={title} explain={(why) => give(id, why)} />}
              </div>
            </li>
          );
        })}
      </ol>
      {isMore && <More more={more} />}
    </div>
  );
}

/** The users who are denied changes, the latest first. */
export function DeniedList() {
  const { say } = usePage();
  const client = useClient();
  const { parts, error, more, isMore } = useParts(DeniedUsers, (data: DeniedUsersQuery) => data.deniedUsers);
  const [ended, setEnded] = useState<string[]>([]);
  const now = useNow();
  useKeys({});
  const end = async (event: Event, user: string) => {
    event.preventDefault();
    const input = { user, until: past, reason: "" };
    const { data, error } = await client.mutation(EndDenial, { input }).toPromise();
    const refused = data?.denyUser?.userErrors[0];
    if (refused) return say(explainRefusal(refused));
    if (error) return say(explainError(error));
    setEnded((before) => [...before, user]);
    say(fill(texts.hasEndedDenial, { user }));
  };
  if (parts.length === 0) return error ? <Failed error={error} retry={more} /> : <Skeleton />;
  const denials = parts.flatMap(({ nodes }) => nodes.flatMap((node) => (node.user ? [node] : [])));
  if (denials.length === 0) return <Empty title={texts.noDenials} />;
  const date = (time: string) => clock(Date.parse(time), now);
  return (
    <div class="list">
      <ol>
        {denials.map(({ user, until, at, by, ground, reason }) => {
          const name = user?.name ?? "";
          const isOver = ended.includes(name);
          return (
            <li key={name + at} class="case" data-case={name} data-open={isOver ? undefined : ""}>
              <h2>
                <a class="title" dir="auto" href={paths.user(name)}>
                  {name}
                </a>
              </h2>
              <p>
                {until ? fill(texts.deniedUntil, { date: date(until) }) : texts.deniedForGood} ·{" "}
                {fill(texts.deniedSince, { date: date(at), user: by?.name ?? "" })} ·{" "}
                {saidWhy(ground, reason)}
              </p>
              {isOver && <p>{fill(texts.hasEndedDenial, { user: name })}</p>}
              {!isOver && name !== erased && (
                <form onSubmit={(event) => end(event, name)}>
                  <button class="button" type="submit">
                    {fill(texts.endDenial, { user: name })}
                  </button>
                </form>
              )}
            </li>
          );
        })}
      </ol>
      {isMore && <More more={more} />}
    </div>
  );
}

/** The moderation log, the newest entry first. */
export function LogEntries() {
  const { parts, error, more, isMore } = useParts(Log, (data: LogQuery) => data.moderationLog);
  const now = useNow();
  useKeys({});
  if (parts.length === 0) return error ? <Failed error={error} retry={more} /> : <Skeleton />;
  const entries = parts.flatMap(({ nodes }) => nodes);
  if (entries.length === 0) return <Empty title={texts.nothingLogged} />;
  return (
    <div class="list">
      <ol>
        {entries.map((entry) => (
          <li key={entry.id} class="case" data-case={entry.id}>
            <Title id={entry.articleId} title={entry.title ?? entry.articleId} />
            <p>
              <time dateTime={entry.at}>{moment(Date.parse(entry.at), now)}</time> ·{" "}
              <bdi>{entry.onBehalfOf ? `${entry.by} (${entry.onBehalfOf})` : entry.by}</bdi> ·{" "}
              {texts.logKinds[entry.kind]}
              {entry.groupsBefore.length + entry.groupsAfter.length > 0 &&
                ` · ${entry.groupsBefore.join(", ")} → ${entry.groupsAfter.join(", ")}`}
              {entry.ground && ` · ${saidWhy(entry.ground, entry.reason, entry.basis)}`}
              {!entry.ground && entry.reason && ` · ${entry.reason}`}
            </p>
          </li>
        ))}
      </ol>
      {isMore && <More more={more} />}
    </div>
  );
}

const More = ({ more }: { more(): void }) => (
  <button type="button" class="more" onClick={more}>
    {texts.moreReports}
  </button>
);
