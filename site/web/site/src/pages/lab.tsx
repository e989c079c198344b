import { useClient, useQuery } from "@urql/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Lab, type LabQuery, Ranks } from "../data/later-gql";
import { usePage } from "../data/page";
import { explainError } from "../data/problem";
import type { Rules } from "../data/rank";
import { useNow, useTitle } from "../ui/hooks";
import { Plot } from "../ui/plot";
import { paths, remember, spans, useScroll, useVisit } from "../ui/router";
import { Skeleton } from "../ui/states";
import { counted, fill, filled, formatNumber, formatTenths, texts } from "../ui/strings";
import { host } from "../ui/text";
import { ago, duration } from "../ui/time";
import {
  curl,
  type Formula,
  formulas,
  newVotes,
  type Parameter,
  parameterOf,
  rankBy,
  readFormula,
  request,
  settings,
  votesNeeded,
  votesNeededOnSite,
  writeFormula,
} from "./formula";

const settling = 120; // milliseconds without a change until the server is asked

/** Tries formulas on the articles of the site: the list follows the controls. */
export function LabPage() {
  useTitle(texts.lab);
  const visit = useVisit();
  const [formula, setFormula] = useState(() => readFormula(visit.search));
  const change = (part: Partial<Formula>) => setFormula({ ...formula, ...part });
  const { site } = usePage();
  const [ranks] = useQuery({ query: Ranks, variables: {}, requestPolicy: "network-only" });
  const { articles, problem } = useRanking(formula);
  useScroll(articles !== undefined);
  useEffect(() => {
    const timer = setTimeout(() => remember({}, `/lab${writeFormula(formula)}`), settling);
    return () => clearTimeout(timer);
  }, [formula]);
  return (
    <>
      <header class="heading">
        <h1>{texts.lab}</h1>
        <p>{texts.aboutLab}</p>
      </header>
      <div class="lab">
        <form onSubmit={(event) => event.preventDefault()}>
          <fieldset>
            <legend>{texts.formula}</legend>
            {formulas.map((each) => (
              <Choice
                key={each}
                group="formula"
                name={texts.formulas[each]}
                chosen={formula.formula === each}
                choose={() => change({ formula: each })}
              />
            ))}
            <p class="about">{texts.aboutFormulas[formula.formula]}</p>
          </fieldset>
          <Slider formula={formula} change={change} />
          <fieldset>
            <legend>{texts.articlesOf[formula.span]}</legend>
            {spans.map((span) => (
              <Choice
                key={span}
                group="span"
                name={texts.spans[span]}
                chosen={formula.span === span}
                choose={() => change({ span })}
              />
            ))}
          </fieldset>
        </form>
        {site && <Curves formula={formula} rules={site.rules} />}
        <div class="ranking">
          <p class="error" role="alert">
            {problem}
          </p>
          <Ranked articles={articles} site={ranks.data?.articles?.nodes.map(({ id }) => id)} />
        </div>
      </div>
      <Request formula={formula} />
    </>
  );
}

interface ChoiceProps {
  group: string;
  name: string;
  chosen: boolean;
  choose(): void;
}

function Choice({ group, name, chosen, choose }: ChoiceProps) {
  return (
    <label class="choice">
      <input type="radio" name={group} checked={chosen} onChange={choose} />
      {name}
    </label>
  );
}

type Articles = NonNullable<LabQuery["ranking"]>["nodes"];

/** Returns the articles by a formula. While the server is asked again, those of the last answer. */
function useRanking(formula: Formula): { articles?: Articles; problem?: string } {
  const client = useClient();
  const { connections } = usePage();
  const now = useNow();
  const [shown, show] = useState<{ articles?: Articles; problem?: string }>({});
  useEffect(() => {
    let replaced = false;
    const timer = setTimeout(async () => {
      const variables = { by: rankBy(formula), span: formula.span };
      const { data, error } = await client
        .query(Lab, variables, { requestPolicy: "network-only" })
        .toPromise();
      if (replaced) return;
      show((before) => ({
        articles: data?.ranking?.nodes ?? before.articles,
        problem: error && explainError(error),
      }));
    }, settling);
    return () => {
      replaced = true;
      clearTimeout(timer);
    };
  }, [client, formula, connections, now]);
  return shown;
}

const minute = 60;
const h = 60 * minute;
const day = 24 * h;
// The positions of the sliders. An address may have other values.
const positions: Record<Parameter, number[]> = {
  gravity: [...Array(50).keys()].map((i) => (i + 1) / 10),
  halfLife: [
    ...[10, 15, 20, 30, 45].map((n) => n * minute),
    ...[1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 18].map((n) => n * h),
    ...[1, 1.5, 2, 3, 4, 5, 7, 10, 14, 21, 30].map((n) => n * day),
  ],
  voteScore: [
    ...[1, 2, 3, 5, 7.2, 10, 15, 20, 30, 45].map((n) => n * minute),
    ...[1, 1.5, 2, 3, 4, 6, 8, 12].map((n) => n * h),
    ...[1, 2, 3, 7].map((n) => n * day),
  ],
};
interface ControlProps {
  formula: Formula;
  change(part: Partial<Formula>): void;
}

/** The slider of the formula's parameter. */
function Slider({ formula, change }: ControlProps) {
  const parameter = parameterOf[formula.formula];
  if (!parameter) return null;
  const value = formula[parameter];
  const text = parameter === "gravity" ? formatTenths(value) : duration(value);
  const all = positions[parameter];
  const distance = (position: number) => Math.abs(Math.log(position / value));
  const nearest = all.reduce((best, each, i) => (distance(each) < distance(all[best] ?? 0) ? i : best), 0);
  return (
    <p class="slider">
      <label for="slider">{texts.parameters[parameter]}</label>
      <strong aria-hidden="true">{text}</strong>
      <input
        id="slider"
        type="range"
        min={0}
        max={all.length - 1}
        value={nearest}
        aria-valuetext={text}
        onInput={({ currentTarget }) => change({ [parameter]: all[Number(currentTarget.value)] })}
      />
    </p>
  );
}

const lastAge = 48; // hours
const mostVotes = 4; // decades
const yOf = (votes: number) => Math.log10(votes) / mostVotes;

/** The votes that an article needs by its age: by the formula, and by the site's own rule. */
function Curves({ formula, rules }: { formula: Formula; rules: Rules }) {
  const ages = [...Array(lastAge * 2 + 1).keys()].map((i) => i / 2);
  const line = (needed: (age: number) => number) =>
    ages.map((age): [number, number] => [age / lastAge, yOf(needed(age))]);
  const chosen = votesNeeded(formula, 24);
  const site = votesNeededOnSite(rules, 24);
  const values = { votes: newVotes, chosen: large(chosen), site: large(site) };
  return (
    <Plot
      label={fill(texts.aboutCurves, values)}
      xTicks={[0, 12, 24, 36, 48].map((age) => ({
        at: age / lastAge,
        text: age ? fill(texts.ageHours, { n: age }) : texts.ageNew,
      }))}
      yTicks={[0, 1, 2, 3, 4].map((decade) => ({ at: decade / mostVotes, text: formatNumber(10 ** decade) }))}
      lines={[
        { name: texts.siteRule, kind: "site", points: line((age) => votesNeededOnSite(rules, age)) },
        {
          name: texts.formulas[formula.formula],
          kind: "chosen",
          points: line((age) => votesNeeded(formula, age)),
        },
      ]}
    >
      {fill(texts.captionCurves, values)}
    </Plot>
  );
}

/** Formats votes, of which there may be infinitely many. */
function large(votes: number): string {
  if (votes > 1e9) return votes === Number.POSITIVE_INFINITY ? texts.outOfReach : texts.overABillion;
  return formatNumber(votes);
}

interface RankedProps {
  articles?: Articles;
  /** Ids of the front page, best first. */
  site?: string[];
}

/** The ranked articles, and where they stand on the front page. Rows glide to their new places. */
function Ranked({ articles, site }: RankedProps) {
  const list = useRef<HTMLOListElement>(null);
  const places = useRef(new Map<string, number>());
  const now = useNow();
  useLayoutEffect(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const before = places.current;
    places.current = new Map();
    for (const row of list.current?.children ?? []) {
      const { id = "" } = (row as HTMLElement).dataset;
      const top = (row as HTMLElement).offsetTop;
      places.current.set(id, top);
      const from = before.get(id);
      if (still || from === top) continue;
      const start = from === undefined ? { opacity: 0 } : { transform: `translateY(${from - top}px)` };
      if (before.size > 0) row.animate([start, {}], { duration: 250, easing: "ease-out" });
    }
  }, [articles]);
  if (!articles) return <Skeleton />;
  if (articles.length === 0) return <p role="status">{texts.nonePostedThen}</p>;
  return (
    <ol class="ranked" ref={list}>
      {articles.map(({ id, number, title, link, votes, createdAt }, i) => (
        <li key={id} data-id={id}>
          <span class="rank">{i + 1}</span>
          <Move from={site?.indexOf(id)} to={i} known={site !== undefined} />
          <span>
            <a class="title" dir="auto" href={paths.article(number)}>
              {title}
            </a>{" "}
            {link && <span class="host">{host(link)}</span>}
          </span>
          <span class="about">
            {fill(texts.votesAndAge, {
              votes: counted(votes, texts.votes),
              time: ago(Date.parse(createdAt), now),
            })}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** How many places an article is higher or lower than on the front page, where it is at index `from`, or -1. */
function Move({ from = -1, to, known }: { from?: number; to: number; known: boolean }) {
  if (!known) return <span />;
  const places = from - to;
  if (from < 0)
    return (
      <span class="move" title={texts.notAmongFirst}>
        {texts.isNew}
      </span>
    );
  const where = fill(texts.rankOnFrontPage, { n: from + 1 });
  return (
    <span class={`move ${places > 0 ? "higher" : places < 0 ? "lower" : ""}`} title={where}>
      <span aria-hidden="true">
        {places > 0 ? "▲" : places < 0 ? "▼" : "="}
        {places !== 0 && Math.abs(places)}
      </span>
      <span class="unseen">{where}</span>
    </span>
  );
}

/** The request behind the list, to copy. */
function Request({ formula }: { formula: Formula }) {
  const document = request(formula);
  const setting = settings(formula);
  return (
    <section class="request" aria-labelledby="request">
      <h2 id="request">{texts.theRequest}</h2>
      <Copied name={texts.copyDocument} text={document} />
      <Copied name={texts.copyCommand} text={curl(location.origin, document)} />
      {setting && <p class="about">{filled(texts.startWith, { setting: <code>{setting}</code> })}</p>}
    </section>
  );
}

function Copied({ name, text }: { name: string; text: string }) {
  const { say } = usePage();
  const code = useRef<HTMLPreElement>(null);
  const copy = () =>
    // Browsers have no clipboard without HTTPS.
    (navigator.clipboard?.writeText(text) ?? Promise.reject()).then(
      () => say(texts.copied),
      () => {
        if (code.current) getSelection()?.selectAllChildren(code.current);
        say(texts.pressToCopy);
      },
    );
  return (
    <div class="copied">
      <pre ref={code}>{text}</pre>
      <button type="button" aria-label={name} onClick={copy}>
        {texts.copy}
      </button>
    </div>
  );
}
