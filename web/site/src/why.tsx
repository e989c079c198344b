import type { RowFragment } from "./gql";
import { usePage } from "./page";
import { type Rules, votesToPass } from "./rank";
import { counted, formatNumber } from "./text";
import { duration, moment } from "./time";

interface WhyProps {
  article: RowFragment;
  now: number;
  /** The preceding article of a list. */
  above?: RowFragment;
}

/**
 * Explains the rank of an article: posting time, votes, score, and the votes needed to pass the article
 * above.
 */
export function Why({ article, now, above }: WhyProps) {
  const rules = usePage().site?.rules;
  if (!rules) return null;
  const posted = Date.parse(article.createdAt);
  const bonus = article.score - posted / 1000; // seconds
  const more = above && above.score >= article.score ? votesToPass(article, above.score, rules) : 0;
  return (
    <div class="why">
      <dl>
        <dt>Posted</dt>
        <dd>{moment(posted, now)}</dd>
        <dt>
          {counted(article.votes, "vote")}
          {rules.ranking !== "HALF_LIFE" && ` × ${duration(rules.voteScore)}`}
        </dt>
        <dd>
          {bonus < 0 ? "−" : "+"} {duration(bonus)}
        </dd>
        <dt>Ranks as if posted</dt>
        <dd>{moment(article.score * 1000, now)}</dd>
      </dl>
      <p>
        Its score is {formatNumber(article.score)}: that time as Unix seconds.{details(rules)}
        {more
          ? ` ${counted(more, "more vote")} would move it above the preceding article.`
          : more === undefined && " No number of votes would move it above the preceding article."}
      </p>
    </div>
  );
}

/** What the multiplication in the list does not say of the rule. */
function details({ ranking, rankCap, halfLife }: Rules): string {
  if (ranking === "CAPPED") return ` Votes add at most ${duration(rankCap)}.`;
  return ranking === "HALF_LIFE" ? ` Each doubling of 1 + votes adds ${duration(halfLife)}.` : "";
}
