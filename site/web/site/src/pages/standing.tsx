import { useQuery } from "@urql/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RowFragment } from "../data/gql";
import { type StandingQuery as Data, Standing as StandingQuery } from "../data/later-gql";
import { usePage } from "../data/page";
import { counted, fill, formatNumber, texts } from "../ui/strings";
import { clock } from "../ui/time";
import { Why } from "./why";

const settling = 1000; // milliseconds

/**
 * Where an article stands: its rank at the last full hour, a curve of the last week, what the next goals take, and why. On
 * narrow screens it is a line that opens.
 */
export function Standing({ article, now }: { article: RowFragment; now: number }) {
  const { connections } = usePage();
  const [open, setOpen] = useState(false);
  const [{ data, error }, execute] = useQuery({ query: StandingQuery, variables: { id: article.id } });
  const state = `${article.votes} ${connections}`;
  const asked = useRef(state);
  useEffect(() => {
    if (asked.current === state) return;
    const timer = setTimeout(() => {
      asked.current = state;
      execute({ requestPolicy: "network-only" });
    }, settling);
    return () => clearTimeout(timer);
  }, [state]);
  const known = data?.article;
  const ranks = known?.ranks.filter(({ rank }) => rank !== null) ?? [];
  const last = ranks.at(-1);
  const goals = known ? goalsOf(known) : [];
  const title = last?.rank ? fill(texts.rankN, { n: formatNumber(last.rank) }) : texts.standing;
  return (
    <section class="standing" data-open={open || undefined} aria-label={texts.standing}>
      <button type="button" class="narrow" aria-expanded={open} onClick={() => setOpen(!open)}>
        <strong>{title}</strong>
        {goals[0] && ` ${goals[0].join(": ")}`}
      </button>
      <div hidden={!known && !error}>
        <p>
          <strong>{title}</strong>{" "}
          {last && known?.bestRank && (
            <span class="about">
              {fill(texts.atAndBest, { time: clock(Date.parse(last.at), now), rank: known.bestRank.rank })}
            </span>
          )}
        </p>
        {known && <Curve ranks={known.ranks} now={now} />}
        {goals.length > 0 && (
          <dl>
            {goals.map(([name, votes]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{votes}</dd>
              </div>
            ))}
          </dl>
        )}
        <Why article={article} />
      </div>
    </section>
  );
}

type Known = NonNullable<Data["article"]>;

/** The goals that an article has not reached, and what they take. */
function goalsOf({ first, tenth, thirtieth }: Known): [name: string, votes: string][] {
  const goals: [string, number | null][] = [
    [texts.firstPlace, first],
    [fill(texts.firstN, { n: 10 }), tenth],
    [fill(texts.firstN, { n: 30 }), thirtieth],
  ];
  return goals
    .filter(([, votes]) => votes !== 0)
    .map(([name, votes]) => [name, votes === null ? texts.outOfReach : counted(votes, texts.votes)]);
}

const [width, height] = [240, 64];

/** The ranks at full hours, the first place at the top. Their axis is logarithmic: the first places matter most. */
function Curve({ ranks, now }: { ranks: Known["ranks"]; now: number }) {
  const known = ranks.map(({ at, rank }) => ({ at: Date.parse(at), rank })).sort((a, b) => a.at - b.at);
  const first = known.findIndex(({ rank }) => rank !== null);
  const shown = first < 0 ? [] : known.slice(Math.max(0, first - 1));
  const [from, to] = [shown[0]?.at ?? 0, shown.at(-1)?.at ?? 0];
  if (to === from) return null;
  let path = "";
  shown.forEach(({ at, rank }, i) => {
    if (rank === null) return;
    const x = ((at - from) / (to - from)) * width;
    const y = (Math.log10(rank) / 2) * (height - 4) + 2;
    path += `${shown[i - 1]?.rank == null ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  const best = Math.min(...shown.map(({ rank }) => rank ?? 100));
  return (
    <figure class="plot">
      <svg
        role="img"
        aria-label={fill(texts.rankOverTime, { rank: best, time: clock(from, now) })}
        viewBox={`0 0 ${width} ${height}`}
      >
        <path class="chosen" d={path} />
      </svg>
      <figcaption>
        <span>{clock(from, now)}</span>
        <span>{clock(to, now)}</span>
      </figcaption>
    </figure>
  );
}
