import type { RowFragment } from "./gql";
import { votesToPass } from "./rank";
import { site } from "./site";
import { counted, grouped } from "./text";
import { moment, span } from "./time";

/** Why an article stands where it stands: time, votes and score, and what it would take to rise. */
export function Why({ article, now, above }: { article: RowFragment; now: number; above?: RowFragment }) {
  const posted = Date.parse(article.createdAt);
  const lift = article.score - posted / 1000; // seconds
  return (
    <div class="why">
      <dl>
        <dt>Posted</dt>
        <dd>{moment(posted, now)}</dd>
        <dt>
          {counted(article.votes, "vote")} × {span(site.voteScore)}
        </dt>
        <dd>
          {lift < 0 ? "−" : "+"} {span(lift)}
        </dd>
        <dt>So it ranks as if posted</dt>
        <dd>{moment(article.score * 1000, now)}</dd>
      </dl>
      <p>
        Its score is {grouped(article.score)}: the seconds from 1970 to that moment.
        {above && above.score >= article.score && (
          <>
            {" "}
            {counted(votesToPass(article.score, above.score, site.voteScore), "more vote")} would put it above
            the one in front of it.
          </>
        )}
      </p>
    </div>
  );
}
