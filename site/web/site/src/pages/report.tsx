import { useClient } from "@urql/preact";
import { useRef, useState } from "preact/hooks";
import type { RowFragment } from "../data/gql";
import { usePage } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { Flag, type ReportReason } from "../data/reporting-gql";
import { has, paths } from "../ui/router";
import { config, texts } from "../ui/strings";

/** Reports an article to the moderators. */
export function Report({ article: { id, number }, done }: { article: RowFragment; done(): void }) {
  const { say } = usePage();
  const client = useClient();
  const [reason, setReason] = useState<ReportReason>("SPAM");
  const note = useRef<HTMLTextAreaElement>(null);
  const [problem, setProblem] = useState("");
  const [sending, setSending] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    if (sending) return;
    setSending(true);
    const input = { target: id, reason, note: note.current?.value.trim() || null };
    const { data, error } = await client.mutation(Flag, { input }).toPromise();
    setSending(false);
    const refused = data?.flag?.userErrors[0];
    setProblem(error ? explainError(error) : refused ? explainRefusal(refused) : "");
    if (error || refused) return;
    say(texts.hasReported);
    done();
  };
  return (
    <form class="form panel" onSubmit={send}>
      <div>
        <label for="reported">{texts.reportReason}</label>
        <select
          id="reported"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value as ReportReason)}
        >
          {(Object.keys(texts.reportReasons) as ReportReason[]).map((name) => (
            <option key={name} value={name}>
              {texts.reportReasons[name]}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="note">{texts.note}</label>
        <textarea id="note" ref={note} rows={3} maxLength={500} aria-describedby="problem" />
      </div>
      {config.rules.length > 0 && (
        <div>
          <p>{texts.siteRules}</p>
          <ul>
            {config.rules.map((rule) => (
              <li key={rule}>{rule}</li>
            ))}
          </ul>
        </div>
      )}
      {has("/notice") && (
        <p>
          <a href={`/notice?about=${encodeURIComponent(location.origin + paths.article(number))}`}>
            {texts.noticeLink}
          </a>
        </p>
      )}
      <p>
        <a href="/reports">{texts.ownReports}</a>
      </p>
      <p id="problem" class="error" role="alert">
        {problem}
      </p>
      <button class="button" type="submit" aria-disabled={sending}>
        {texts.sendReport}
      </button>
    </form>
  );
}
