import type { RowFragment } from "./gql";
import { usePage } from "./page";
import { type Rules, votesToPass } from "./rank";
import { counted, fill, formatNumber, texts } from "./strings";
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
  const votes = counted(article.votes, texts.votes);
  return (
    <div class="why">
      <dl>
        <dt>{texts.posted}</dt>
        <dd>{moment(posted, now)}</dd>
        <dt>
          {rules.ranking === "HALF_LIFE"
            ? votes
            : fill(texts.votesTimes, { votes, time: duration(rules.voteScore) })}
        </dt>
        <dd>
          {bonus < 0 ? "−" : "+"} {duration(bonus)}
        </dd>
        <dt>{texts.ranksAs}</dt>
        <dd>{moment(article.score * 1000, now)}</dd>
      </dl>
      <p>
        {fill(texts.scoreIs, { score: formatNumber(article.score) })} {details(rules)}{" "}
        {more ? counted(more, texts.moreToPass) : more === undefined && texts.neverPasses}
      </p>
    </div>
  );
}

/** What the multiplication in the list does not say of the rule. */
function details({ ranking, rankCap, halfLife }: Rules): string {
  if (ranking === "CAPPED") return fill(texts.votesCapped, { time: duration(rankCap) });
  return ranking === "HALF_LIFE" ? fill(texts.votesDoubled, { time: duration(halfLife) }) : "";
}
