import { useClient } from "@urql/preact";
import { useRef, useState } from "preact/hooks";
import type { ArticleQuery, RemovalGround, RowFragment } from "../data/gql";
import { Delete as DeleteArticle, Edit as EditArticle, Restore } from "../data/later-gql";
import { useSend } from "../data/mutations";
import { usePage } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { isHere, navigate, paths, useVisit } from "../ui/router";
import { fill, texts } from "../ui/strings";
import { closing, left } from "../ui/time";

/** The ends of the times in which a poster can change title and text, in Unix milliseconds. */
export function editEnds({ article, site }: ArticleQuery): [title: number, text: number] {
  if (!article) return [0, 0];
  const end = Date.parse(article.createdAt) + (site.rules.editWindow + 1) * 1000;
  return [end, Math.max(end, closing(article))];
}

/** Changes title and text. */
export function Edit({ data, now, done }: { data: ArticleQuery; now: number; done(): void }) {
  const { say } = usePage();
  const { send, sending } = useSend("Edit", EditArticle);
  const { id, title, text, revision } = data.article as NonNullable<ArticleQuery["article"]>;
  const [draft, setDraft] = useState({ title, text: text ?? "", ifRevision: revision });
  const [problem, setProblem] = useState("");
  const [titleEnd, textEnd] = editEnds(data);
  const always = data.viewer?.isModerator;
  const withTitle = always || now < titleEnd;

  const bind = (name: "title" | "text") => ({
    id: name,
    value: draft[name],
    onInput: (event: Event) =>
      setDraft({ ...draft, [name]: (event.currentTarget as HTMLInputElement).value }),
    "aria-describedby": "left problem",
  });
  const save = async (event: Event) => {
    event.preventDefault();
    if (sending) return;
    const { data, error } = await send({ article: id, ...draft, title: withTitle ? draft.title : null });
    const refused = data?.editArticle?.userErrors[0];
    setProblem(refused ? explainRefusal(refused) : "");
    // After a conflict the page shows the other version. Saving again replaces that one.
    const current = data?.editArticle?.article;
    if (refused && current) setDraft({ ...draft, ifRevision: current.revision });
    if (error) say(`${explainError(error)} ${texts.inDoubt.Edit}`);
    if (!data || refused) return;
    say(texts.hasEdited);
    done();
  };
  const more = left(textEnd, now);
  return (
    <form class="form panel" onSubmit={save}>
      {!always && (
        <p id="left" class="about">
          {withTitle
            ? fill(texts.leftForTitle, { time: left(titleEnd, now), more })
            : fill(texts.leftForText, { time: more })}
        </p>
      )}
      {withTitle && (
        <div>
          <label for="title">{texts.title}</label>
          <input {...bind("title")} autocomplete="off" />
        </div>
      )}
      <div>
        <label for="text">{texts.text}</label>
        <textarea {...bind("text")} rows={6} />
      </div>
      <p id="problem" class="error" role="alert">
        {problem}
      </p>
      <button class="button" type="submit" aria-disabled={sending}>
        {texts.save}
      </button>
    </form>
  );
}

/** Deletes an article. */
export function Delete({ article: { id, number, poster } }: { article: RowFragment }) {
  const { viewer, say } = usePage();
  const reason = useRef<HTMLInputElement>(null);
  const [ground, setGround] = useState<RemovalGround>("RULES");
  const visit = useVisit();
  const { send, sending } = useSend("Delete", DeleteArticle);
  const client = useClient();
  const isOwn = viewer === poster.name;
  const undo = async () => {
    const { data, error } = await client.mutation(Restore, { input: { article: id } }).toPromise();
    const refused = data?.restoreArticle?.userErrors[0];
    if (refused) return say(explainRefusal(refused));
    if (error) return say(explainError(error));
    say(texts.hasRestored);
    navigate(paths.article(number));
  };
  const confirm = async () => {
    if (sending) return;
    const why = isOwn ? {} : { ground, reason: reason.current?.value.trim() || null };
    const { data, error } = await send({ article: id, ...why });
    const refused = data?.deleteArticle?.userErrors[0];
    if (refused) return say(fill(texts.deleteRefused, { reason: explainRefusal(refused) }));
    if (error) return say(`${explainError(error)} ${texts.inDoubt.Delete}`);
    if (!data) return;
    say(texts.hasDeleted, undo);
    if (isHere(visit)) navigate("/", "replace");
  };
  return (
    <div class="form panel">
      <p>{texts.willDisappear}</p>
      {!isOwn && (
        <>
          <p>
            <label for="ground">{texts.ground}</label>
            <select
              id="ground"
              value={ground}
              onChange={(event) => setGround(event.currentTarget.value as RemovalGround)}
            >
              {(["RULES", "ILLEGAL", "OTHER"] as const).map((name) => (
                <option key={name} value={name}>
                  {texts.grounds[name]}
                </option>
              ))}
            </select>
          </p>
          <p>
            <label for="reason">{texts.reason}</label>
            <input id="reason" ref={reason} maxLength={500} autocomplete="off" />
          </p>
        </>
      )}
      <button type="button" class="button danger" aria-disabled={sending} onClick={confirm}>
        {texts.deleteIt}
      </button>
    </div>
  );
}
