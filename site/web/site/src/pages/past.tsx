import { useQuery } from "@urql/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Past } from "../data/later-gql";
import { useNear, useNow, useTitle } from "../ui/hooks";
import { navigate, useScroll, useVisit } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { fill, texts } from "../ui/strings";
import { Failed } from "./failed";
import { Gone, Row } from "./row";

const hour = 3_600_000; // milliseconds
const day = 24 * hour;
const first = 10; // articles that are read and drawn before the visitor scrolls: a phone takes long for all 100

const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);
const isoHour = (time: number) => new Date(time).getUTCHours();
const address = (time: number) => `/past/${isoDay(time)}?hour=${isoHour(time)}`;

const clock = (time: number) => new Date(time).toISOString().slice(11, 16);

/**
 * Returns the full hour of a path and its query, in Unix milliseconds, but not a later one than the current hour.
 * Without a day, that is the hour 24 hours ago; without an hour, the last one of the day.
 */
export function hourOf(name: string | undefined, search: string, now: number): number {
  const latest = now - (now % hour);
  if (!name) return latest - day;
  const text = new URLSearchParams(search).get("hour");
  const chosen = /^([01]?\d|2[0-3])$/.test(text ?? "") ? Number(text) : 23;
  return Math.min(Date.parse(name) + chosen * hour, latest);
}

/** The front page as it stood at a full hour. */
export function PastPage({ name }: { name?: string }) {
  const visit = useVisit();
  const now = useNow();
  const [at] = useState(() => hourOf(name, visit.search, now));
  const title = fill(texts.frontPageOf, { day: isoDay(at) }); // in the language's own form, a phone needs 50 ms for it
  useTitle(title);
  const variables = { at: new Date(at).toISOString() };
  const [{ data, error, fetching }, execute] = useQuery({ query: Past, variables });
  const edges = data?.frontPage?.edges ?? [];
  const latest = now - (now % hour);
  // Such as on a site that was imported since then. The server does the same.
  useEffect(() => {
    if (!name && data && !edges.length) navigate(address(latest), "replace");
  }, [data]);
  const isWhole = new URLSearchParams(visit.search).has("all");
  const [all, setAll] = useState(isWhole || visit.arrival !== "new");
  const [asked, setAsked] = useState(isWhole);
  // The page that the server renders has the first articles only.
  const lacks = all && edges.length === first && (!asked || fetching);
  useScroll(data !== undefined && !lacks);
  const [near, end] = useNear<HTMLAnchorElement>("300px", false, [data]);
  useEffect(() => {
    if (near) setAll(true);
  }, [near]);
  useEffect(() => {
    if (!lacks || asked) return;
    setAsked(true);
    execute({ requestPolicy: "network-only" });
  }, [lacks]);
  return (
    <>
      <header class="heading">
        <h1>{title}</h1>
        <nav aria-label={texts.days}>
          <a href={address(at - day)} rel="prev">
            ← {texts.dayBefore}
          </a>
          {at + day <= now && (
            <a href={address(at + day)} rel="next">
              {texts.dayAfter} →
            </a>
          )}
        </nav>
        <p>{fill(texts.aboutPast, { time: clock(at) })}</p>
      </header>
      <Choice at={at} now={now} />
      {edges.length > 0 ? (
        <div class="list">
          <ol>
            {edges
              .slice(0, all ? undefined : first)
              .map(({ rank, node }) =>
                node ? (
                  <Row key={rank} article={node} now={now} rank={rank} note="" />
                ) : (
                  <Gone key={rank} rank={rank} />
                ),
              )}
          </ol>
          {(lacks || (!all && edges.length >= first)) && (
            <a ref={end} class="more" href={`${address(at)}&all=1`}>
              {texts.moreArticles}
            </a>
          )}
        </div>
      ) : data && address(at) === address(latest) ? (
        <Empty title={texts.noFrontPageYet}>
          <p>{texts.aboutNoFrontPageYet}</p>
        </Empty>
      ) : data ? (
        <Empty title={texts.noFrontPage}>
          <p>
            {texts.aboutNoFrontPage} <a href={address(latest)}>{texts.seeLatest}</a>
          </p>
        </Empty>
      ) : error ? (
        <Failed error={error} retry={() => execute({ requestPolicy: "network-only" })} />
      ) : (
        <Skeleton />
      )}
    </>
  );
}

/** A form for any day and hour. It is drawn once for each hour: it keeps what the visitor chooses. */
function Choice({ at, now }: { at: number; now: number }) {
  const choose = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    navigate(`/past/${form.get("day")}?hour=${form.get("hour")}`);
  };
  return useMemo(
    () => (
      <form class="find" action="/past" onSubmit={choose}>
        <label for="date">{texts.day}</label>
        <input id="date" type="date" name="day" required max={isoDay(now)} value={isoDay(at)} />
        <label for="time">{texts.hourUTC}</label>
        <input id="time" type="number" name="hour" required min="0" max="23" value={`${isoHour(at)}`} />
        <button class="button" type="submit">
          {texts.show}
        </button>
      </form>
    ),
    [at],
  );
}
