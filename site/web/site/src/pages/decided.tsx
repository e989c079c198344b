import type { ReportedFragment } from "../data/reporting-gql";
import { useNow } from "../ui/hooks";
import { paths } from "../ui/router";
import { fill, texts } from "../ui/strings";
import { ago } from "../ui/time";

/** Reports and what was decided about each. */
export function Decided({ reports }: { reports: ReportedFragment[] }) {
  const now = useNow();
  return (
    <ol class="list">
      {reports.map(({ id, reason, note, at, target, state, decidedAt, decision, article }) => (
        <li key={id} class="case" data-report={target}>
          <h2>
            {article ? (
              <a class="title" dir="auto" href={paths.article(article.number)}>
                {article.title}
              </a>
            ) : (
              <span>{fill(texts.deletedTarget, { target })}</span>
            )}
          </h2>
          <p>
            {texts.reportReasons[reason]} · {ago(Date.parse(at), now)}
          </p>
          {note && <blockquote dir="auto">{note}</blockquote>}
          <p>
            <strong>{texts.reportStates[state]}</strong>
            {decidedAt && ` · ${ago(Date.parse(decidedAt), now)}`}
          </p>
          {decision && <blockquote dir="auto">{decision}</blockquote>}
        </li>
      ))}
    </ol>
  );
}
