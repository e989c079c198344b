import type { RowFragment } from "./gql";
import { explain, votesToPass } from "./rank";
import { site } from "./site";
import { counted, grouped } from "./text";
import { moment, span } from "./time";

/** Why an article stands where it stands: time, votes and score, and what it would take to rise. */
export function Why({ article, now, above }: { article: RowFragment; now: number; above?: RowFragment }) {
  const rank = explain(article);
  return (
    <div class="why">
      <dl>
        <dt>Posted</dt>
        <dd>{moment(rank.postedAt, now)}</dd>
        <dt>
          {counted(rank.votes, "vote")} × {span(site.voteScore)}
        </dt>
        <dd>
          {rank.lift < 0 ? "−" : "+"} {span(rank.lift)}
        </dd>
        <dt>So it ranks as if posted</dt>
        <dd>{moment(rank.ranksAs, now)}</dd>
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
