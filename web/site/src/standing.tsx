import { useQuery } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { RowFragment } from "./gql";
import { type StandingQuery as Data, Standing as StandingQuery } from "./later-gql";
import { usePage } from "./page";
import { Plot } from "./plot";
import { counted, fill, texts } from "./strings";
import { moment } from "./time";

const settling = 1000; // milliseconds

interface StandingProps {
  article: RowFragment;
  now: number;
  children: ComponentChildren;
}

/**
 * Says which ranks an article reached and could reach, and shows where it stood in the last week. Its children follow,
 * which are not shown before: they would move.
 */
export function Standing({ article, now, children }: StandingProps) {
  const { connections } = usePage();
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
  return (
    <>
      {data?.article && <Ranks standing={data.article} now={now} />}
      <div hidden={!data && !error}>{children}</div>
    </>
  );
}

type Known = NonNullable<Data["article"]>;

function Ranks({ standing, now }: { standing: Known; now: number }) {
  const { first, tenth, thirtieth, bestRank, ranks } = standing;
  const goals: [string, number | null][] = [
    [texts.firstPlace, first],
    [fill(texts.firstN, { n: 10 }), tenth],
    [fill(texts.firstN, { n: 30 }), thirtieth],
  ];
  return (
    <>
      <dl class="standing">
        {goals.map(([name, votes]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{goal(votes)}</dd>
          </div>
        ))}
        {bestRank && (
          <div>
            <dt>{texts.bestRank}</dt>
            <dd>
              {bestRank.rank} <span class="about">{short(bestRank.at, now)}</span>
            </dd>
          </div>
        )}
      </dl>
      <History ranks={ranks} now={now} />
    </>
  );
}

/** What has to happen until a rank is reached. */
function goal(votes: number | null): string {
  if (votes === null) return texts.outOfReach;
  return votes > 0 ? counted(votes, texts.moreVotes) : texts.reached;
}

/** Formats a time without its seconds: "21 Nov, 09:12". */
const short = (at: string | number, now: number) => moment(new Date(at).getTime(), now).slice(0, -3);

// Ranks on a logarithmic axis: the first places matter most.
const yOf = (rank: number) => 1 - Math.log10(rank) / 2;

function History({ ranks, now }: { ranks: Known["ranks"]; now: number }) {
  const known = ranks.map(({ at, rank }) => ({ at: Date.parse(at), rank })).sort((a, b) => a.at - b.at);
  const first = known.findIndex(({ rank }) => rank !== null);
  const shown = known.slice(Math.max(0, first - 1));
  const [from, to] = [shown[0]?.at ?? 0, shown.at(-1)?.at ?? 0];
  if (first < 0 || to === from) return null;
  const best = Math.min(...shown.map(({ rank }) => rank ?? 100));
  return (
    <Plot
      label={fill(texts.rankOverTime, { rank: best, time: short(from, now) })}
      xTicks={[
        { at: 0, text: short(from, now) },
        { at: 1, text: short(to, now) },
      ]}
      yTicks={[1, 3, 10, 30, 100].map((rank) => ({ at: yOf(rank), text: `${rank}` }))}
      lines={[
        {
          name: texts.rank,
          kind: "chosen",
          points: shown.map(({ at, rank }) =>
            rank === null ? undefined : [(at - from) / (to - from), yOf(rank)],
          ),
        },
      ]}
    >
      {texts.aboutHistory}
    </Plot>
  );
}
