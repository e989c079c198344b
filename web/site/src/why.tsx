import type { RowFragment } from "./gql";
import { usePage } from "./page";
import { votesToPass } from "./rank";
import { counted, formatNumber } from "./text";
import { duration, moment } from "./time";

/**
 * Explains the rank of an article: posting time, votes, score, and the votes needed to pass the article
 * above.
 */
export function Why({ article, now, above }: { article: RowFragment; now: number; above?: RowFragment }) {
  const { voteScore = 0 } = usePage().site?.rules ?? {};
  const posted = Date.parse(article.createdAt);
  const bonus = article.score - posted / 1000; // seconds
  return (
    <div class="why">
      <dl>
        <dt>Posted</dt>
        <dd>{moment(posted, now)}</dd>
        <dt>
          {counted(article.votes, "vote")} × {duration(voteScore)}
        </dt>
        <dd>
          {bonus < 0 ? "−" : "+"} {duration(bonus)}
        </dd>
        <dt>Ranks as if posted</dt>
        <dd>{moment(article.score * 1000, now)}</dd>
      </dl>
      <p>
        Its score is {formatNumber(article.score)}: that time as Unix seconds.
        {above && above.score >= article.score && (
          <>
            {" "}
            {counted(votesToPass(article.score, above.score, voteScore), "more vote")} would move it above the
            preceding article.
          </>
        )}
      </p>
    </div>
  );
}
