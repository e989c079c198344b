import { useQuery } from "@urql/preact";
import { useEffect, useState } from "preact/hooks";
import type { Rendered } from "../data/client";
import { Past, type PastQuery } from "../data/later-gql";
import { useNear, useNow, useTitle } from "../ui/hooks";
import { navigate, useScroll, useVisit } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { fill, texts } from "../ui/strings";
import { Failed } from "./failed";
import { Gone, Row } from "./row";

const hour = 3_600_000; // milliseconds
const day = 24 * hour;
const first = 10; // articles that are read and drawn before the visitor scrolls: a phone takes long for all 100

/** The answer that the page was rendered of, with all articles. */
let whole: Rendered | undefined;

/** Leaves the first articles in the answer that the page was rendered of, until the visitor scrolls. */
export function cut(rendered: Rendered) {
  const data = rendered.data as PastQuery | undefined;
  if (!data?.frontPage || data.frontPage.edges.length <= first) return;
  whole = { ...rendered, data: { ...data } };
  data.frontPage = { ...data.frontPage, edges: data.frontPage.edges.slice(0, first) };
}

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
  const [{ data, error }, execute] = useQuery({ query: Past, variables });
  const page = data?.frontPage;
  const latest = now - (now % hour);
  // Such as on a site that was imported since then. The server does the same.
  useEffect(() => {
    if (!name && data && !page?.edges.length) navigate(address(latest), "replace");
  }, [data]);
  useScroll(data !== undefined);
  const [all, setAll] = useState(visit.arrival !== "new");
  const [near, end] = useNear<HTMLDivElement>("300px", false, [page]);
  useEffect(() => {
    if (!near) return;
    setAll(true);
    if (page?.edges.length !== first || whole?.request.variables.at !== variables.at) return;
    execute({ requestPolicy: "network-only", fetch: async () => new Response(JSON.stringify(whole)) });
  }, [near]);
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
      {page && page.edges.length > 0 ? (
        <div class="list">
          <ol>
            {page.edges
              .slice(0, all ? undefined : first)
              .map(({ rank, node }) =>
                node ? (
                  <Row key={rank} article={node} now={now} rank={rank} note="" />
                ) : (
                  <Gone key={rank} rank={rank} />
                ),
              )}
          </ol>
          <div ref={end} />
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

/** A form for any day and hour. */
function Choice({ at, now }: { at: number; now: number }) {
  const [date, setDate] = useState(isoDay(at));
  const [time, setTime] = useState(`${isoHour(at)}`);
  return (
    <form
      class="find"
      onSubmit={(event) => {
        event.preventDefault();
        if (date) navigate(`/past/${date}?hour=${time}`);
      }}
    >
      <label for="date">{texts.day}</label>
      <input
        id="date"
        type="date"
        required
        max={isoDay(now)}
        value={date}
        onInput={(event) => setDate(event.currentTarget.value)}
      />
      <label for="time">{texts.hourUTC}</label>
      <select id="time" value={time} onChange={(event) => setTime(event.currentTarget.value)}>
        {[...Array(24).keys()].map((each) => (
          <option key={each} value={each}>
            {`${each}`.padStart(2, "0")}:00
          </option>
        ))}
      </select>
      <button class="button" type="submit">
        {texts.show}
      </button>
    </form>
  );
}
