import type { Client } from "@urql/preact";
import { type ComponentChildren, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  Deny,
  Describe as DescribeGroup,
  GroupsOf,
  Regroup,
  type RemovalGround,
  TakeBack,
  TakeDown,
  Waiting,
} from "../data/acting-gql";
import type { Described, Page, Subject } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { paths } from "../ui/router";
import { Skeleton } from "../ui/states";
import { config, fill, formatNumber, texts } from "../ui/strings";
import { clock } from "../ui/time";

// What moderators can do from each list, see third.tsx. The forms are dialogs outside of the page: the row of an article that
// they delete goes.

const lookAgain = 60_000; // milliseconds
const undoTime = 10_000; // milliseconds
const spans = [1, 7, 30, 0] as const; // days; 0: for ever

let timer: ReturnType<typeof setInterval> | undefined;

/** Puts the moderators' entries into menus, with the number of articles that wait for a decision. */
export function start(client: Client, set: (tools: Pick<Page, "tools">) => void): void {
  const look = async () => {
    if (timer && document.visibilityState !== "visible") return; // the first time, the entries are missing
    const { data } = await client.query(Waiting, {}, { requestPolicy: "network-only" }).toPromise();
    if (!data?.flagged) return;
    const waiting = data.flagged.totalCount + (data.deletedItems?.totalCount ?? 0);
    set({
      tools: {
        entry: (
          <a href="/mod">
            {texts.moderation}
            {waiting > 0 && ` (${formatNumber(waiting)})`}
          </a>
        ),
        open: (article, form) => {
          const Form = forms[form];
          show(article.title, (close) => <Form {...{ client, article, close }} />);
        },
        describe: (group) => show(group.name, (close) => <Describe {...{ client, group, close }} />),
      },
    });
  };
  void look();
  clearInterval(timer); // that of the session before
  timer = setInterval(look, lookAgain);
}

/** Shows a form about something in a dialog. */
function show(title: string, form: (close: () => void) => ComponentChildren): void {
  const place = document.body.appendChild(document.createElement("div"));
  const end = () => {
    render(null, place);
    place.remove();
  };
  render(<Opened {...{ title, form, end }} />, place);
}

interface OpenedProps {
  title: string;
  form(close: () => void): ComponentChildren;
  end(): void;
}

function Opened({ title, form, end }: OpenedProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="act" aria-labelledby="act" onClose={end}>
      <h2 id="act" dir="auto">
        {title}
      </h2>
      {form(() => dialog.current?.close())}
      <form method="dialog">
        <button class="button" type="submit">
          {texts.close}
        </button>
      </form>
    </dialog>
  );
}

/** Says what a group is about, and its rules. */
function Describe({ client, group, close }: { client: Client; group: Described; close(): void }) {
  const [problem, setProblem] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const input = {
      group: group.name,
      description: `${data.get("description")}`,
      rules: `${data.get("rules")}`.split("\n"),
    };
    const answer = await client.mutation(DescribeGroup, { input }).toPromise();
    const problem = problemOf({ error: answer.error, payload: answer.data?.describeGroup });
    setProblem(problem);
    if (!problem) close();
  };
  return (
    <form class="form" onSubmit={save}>
      <div>
        <label for="description">{texts.description}</label>
        <input id="description" name="description" maxLength={160} defaultValue={group.description ?? ""} />
      </div>
      <div>
        <label for="rules">{texts.rulesInLines}</label>
        <textarea id="rules" name="rules" rows={5} defaultValue={group.rules.join("\n")} />
      </div>
      <p class="error" role="alert">
        {problem}
      </p>
      <button class="button" type="submit">
        {texts.save}
      </button>
    </form>
  );
}

type Result = {
  error?: Parameters<typeof explainError>[0];
  payload?: { userErrors: { code: string; message: string }[] } | null;
};

/** Returns what went wrong with a mutation; empty: nothing. */
function problemOf({ error, payload }: Result): string {
  const refused = payload?.userErrors[0];
  return error ? explainError(error) : refused ? explainRefusal(refused) : payload ? "" : texts.wentWrong;
}

interface FormProps {
  client: Client;
  article: Subject;
  close(): void;
}

/** Removes an article at once, and asks why. */
function Remove({ client, article, close }: FormProps) {
  const input = { article: article.id };
  const [problem, setProblem] = useState("");
  const [removed, setRemoved] = useState(false);
  const [undo, setUndo] = useState(true);
  useEffect(() => {
    const timer = setTimeout(setUndo, undoTime, false);
    void remove();
    return () => clearTimeout(timer);
  }, []);
  const remove = async (why?: Reasons) => {
    const { data, error } = await client.mutation(TakeDown, { input: { ...input, ...why } }).toPromise();
    const problem = problemOf({ error, payload: data?.deleteArticle });
    setProblem(problem);
    if (problem) return;
    setRemoved(true);
    if (why) close();
  };
  const restore = async () => {
    const { data, error } = await client.mutation(TakeBack, { input }).toPromise();
    const problem = problemOf({ error, payload: data?.restoreArticle });
    setProblem(problem);
    if (problem) return;
    close();
  };
  return (
    <>
      <p role="status">{removed && texts.hasRemoved}</p>
      {removed && <Why send={texts.giveReason} act={remove} />}
      {removed && undo && (
        <button type="button" class="button" onClick={restore}>
          {texts.undo}
        </button>
      )}
      <p class="error" role="alert">
        {problem}
      </p>
    </>
  );
}

interface Reasons {
  ground: RemovalGround;
  basis: string | null;
  reason: string | null;
}

/** Asks for ground, rule and reason. */
function Why({
  send,
  act,
  children,
}: {
  send: string;
  act(why: Reasons): void;
  children?: ComponentChildren;
}) {
  const choices: [RemovalGround, string][] = [
    ...config.rules.map((rule): [RemovalGround, string] => ["RULES", rule]),
    ["RULES", ""],
    ["ILLEGAL", ""],
    ["OTHER", ""],
  ];
  const [at, setAt] = useState(0);
  const reason = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    const [ground, basis] = choices[at] ?? ["OTHER" as const, ""];
    act({ ground, basis: basis || null, reason: reason.current?.value.trim() || null });
  };
  return (
    <form class="form" onSubmit={submit}>
      {children}
      <div>
        <label for="act-ground">{texts.ground}</label>
        <select id="act-ground" value={at} onChange={(event) => setAt(Number(event.currentTarget.value))}>
          {choices.map(([ground, basis], i) => (
            <option key={`${ground} ${basis}`} value={i}>
              {basis || texts.grounds[ground]}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="act-reason">{texts.reason}</label>
        <input id="act-reason" ref={reason} maxLength={500} autocomplete="off" />
      </div>
      <button class="button" type="submit">
        {send}
      </button>
    </form>
  );
}

/** Changes the groups of an article. */
function Groups({ client, article, close }: FormProps) {
  const [before, setBefore] = useState<string[]>();
  const [problem, setProblem] = useState("");
  const names = useRef<HTMLInputElement>(null);
  useEffect(() => {
    client
      .query(GroupsOf, { id: article.id }, { requestPolicy: "network-only" })
      .toPromise()
      .then(({ data, error }) => {
        if (data?.article) setBefore(data.article.groups.map(({ name }) => name));
        else setProblem(error ? explainError(error) : texts.articleMissing);
      });
  }, []);
  useEffect(() => names.current?.focus(), [before]);
  const save = async (why: Reasons) => {
    const after = names.current?.value.split(/[\s,]+/).filter(Boolean) ?? [];
    const input = {
      article: article.id,
      add: after.filter((name) => !before?.includes(name)),
      remove: before?.filter((name) => !after.includes(name)) ?? [],
      ...why,
    };
    const { data, error } = await client.mutation(Regroup, { input }).toPromise();
    const problem = problemOf({ error, payload: data?.regroup });
    setProblem(problem);
    if (problem) return;
    close();
  };
  return (
    <>
      {!before && !problem && <Skeleton rows={1} />}
      {before && (
        <Why send={texts.save} act={save}>
          <div>
            <label for="act-groups">{texts.groups}</label>
            <input id="act-groups" ref={names} defaultValue={before.join(" ")} autocomplete="off" />
          </div>
        </Why>
      )}
      <p class="error" role="alert">
        {problem}
      </p>
    </>
  );
}

/** Leads to the articles of an author, and denies them changes. */
function Author({ client, article: { poster } }: FormProps) {
  const [days, setDays] = useState<number>(spans[0]);
  const [problem, setProblem] = useState("");
  const [outcome, setOutcome] = useState("");
  const deny = async ({ ground, basis, reason }: Reasons) => {
    const until = days > 0 ? new Date(Date.now() + days * 86_400_000).toISOString() : null;
    const input = { user: poster.name, until, ground, reason: reason ?? basis ?? "" };
    const { data, error } = await client.mutation(Deny, { input }).toPromise();
    const problem = problemOf({ error, payload: data?.denyUser });
    setProblem(problem);
    if (problem) return;
    const date = until ? clock(Date.parse(until), Date.now()) : "";
    setOutcome(fill(date ? texts.hasDenied : texts.hasDeniedForGood, { user: poster.name, date }));
  };
  return (
    <>
      <p>
        <a href={paths.user(poster.name)} target="_blank" rel="noopener" dir="auto">
          {fill(texts.articlesOfAuthor, { user: poster.name })}
        </a>
      </p>
      <p role="status">{outcome}</p>
      {!outcome && (
        <Why send={fill(texts.deny, { user: poster.name })} act={deny}>
          <div>
            <label for="act-days">{texts.denyFor}</label>
            <select
              id="act-days"
              value={days}
              onChange={(event) => setDays(Number(event.currentTarget.value))}
            >
              {spans.map((span) => (
                <option key={span} value={span}>
                  {texts.denySpans[span]}
                </option>
              ))}
            </select>
          </div>
        </Why>
      )}
      <p class="error" role="alert">
        {problem}
      </p>
    </>
  );
}

const forms = { remove: Remove, groups: Groups, author: Author };
