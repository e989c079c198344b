import { useRef, useState } from "preact/hooks";
import type { ArticleQuery, RowFragment } from "./gql";
import { useSend } from "./mutations";
import { usePage } from "./page";
import { explainError, sentence } from "./problem";
import { isHere, navigate, useVisit } from "./router";
import { fill, texts } from "./strings";
import { editEnds, left } from "./time";

/** Changes title and text. */
export function Edit({ data, now, done }: { data: ArticleQuery; now: number; done(): void }) {
  const { say } = usePage();
  const { send, sending } = useSend("Edit");
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
    setProblem(refused ? sentence(refused.message) : "");
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
export function Delete({ article: { id, poster } }: { article: RowFragment }) {
  const { viewer, say } = usePage();
  const reason = useRef<HTMLInputElement>(null);
  const visit = useVisit();
  const { send, sending } = useSend("Delete");
  const confirm = async () => {
    if (sending) return;
    const { data, error } = await send({ article: id, reason: reason.current?.value.trim() || null });
    const refused = data?.deleteArticle?.userErrors[0];
    if (refused) return say(fill(texts.deleteRefused, { reason: refused.message }));
    if (error) return say(`${explainError(error)} ${texts.inDoubt.Delete}`);
    if (!data) return;
    say(texts.hasDeleted);
    if (isHere(visit)) navigate("/", "replace");
  };
  return (
    <div class="form panel">
      <p>{texts.willDisappear}</p>
      {viewer !== poster.name && (
        <p>
          <label for="reason">{texts.reason}</label>
          <input id="reason" ref={reason} maxLength={500} autocomplete="off" />
        </p>
      )}
      <button type="button" class="button danger" aria-disabled={sending} onClick={confirm}>
        {texts.deleteForever}
      </button>
    </div>
  );
}
