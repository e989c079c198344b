import { useQuery } from "@urql/preact";
import { useState } from "preact/hooks";
import { Past } from "./later-gql";
import { useNow, useTitle } from "./page";
import { navigate, useScroll, useVisit } from "./router";
import { Row } from "./row";
import { Empty, Failed, Skeleton } from "./states";

const hour = 3_600_000; // milliseconds
const day = 24 * hour;

const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);
const isoHour = (time: number) => new Date(time).getUTCHours();
const address = (time: number) => `/past/${isoDay(time)}?hour=${isoHour(time)}`;

/** Formats a day: "Saturday, 21 November 2026". */
const longDay = (time: number) =>
  new Date(time).toLocaleDateString("en-GB", { dateStyle: "full", timeZone: "UTC" });
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
  useTitle(`Front page of ${isoDay(at)}`);
  const [{ data, error }, execute] = useQuery({
    query: Past,
    variables: { at: new Date(at).toISOString().replace(".000", "") },
  });
  const page = data?.frontPage;
  useScroll(data !== undefined);
  return (
    <>
      <header class="heading">
        <h1>{longDay(at)}</h1>
        <p>The front page as it stood at {clock(at)} UTC. Titles and votes are those of now.</p>
        <nav aria-label="Days">
          <a href={address(at - day)} rel="prev">
            ← Day before
          </a>
          {at + day <= now && (
            <a href={address(at + day)} rel="next">
              Day after →
            </a>
          )}
        </nav>
      </header>
      <Choice at={at} now={now} />
      {page && page.edges.length > 0 ? (
        <div class="list">
          <ol>
            {page.edges.map(({ rank, node }) =>
              node ? (
                <Row key={rank} article={node} now={now} rank={rank} note="" />
              ) : (
                <li key={rank} class="row gone" value={rank}>
                  This article has been deleted.
                </li>
              ),
            )}
          </ol>
        </div>
      ) : data ? (
        <Empty title="No front page of this hour">
          <p>
            The site saves its front page after each full hour in which a vote or an article arrives, and
            keeps it for a limited time. <a href={address(now - (now % hour))}>See the latest one</a>.
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
      <label for="date">Day</label>
      <input
        id="date"
        type="date"
        required
        max={isoDay(now)}
        value={date}
        onInput={(event) => setDate(event.currentTarget.value)}
      />
      <label for="time">Hour, UTC</label>
      <select id="time" value={time} onChange={(event) => setTime(event.currentTarget.value)}>
        {[...Array(24).keys()].map((each) => (
          <option key={each} value={each}>
            {`${each}`.padStart(2, "0")}:00
          </option>
        ))}
      </select>
      <button class="button" type="submit">
        Show
      </button>
    </form>
  );
}
