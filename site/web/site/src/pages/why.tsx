import { usePage, type WhyProps } from "../data/page";
import { type Rules, votesToPass } from "../data/rank";
import { has } from "../ui/router";
import { counted, fill, texts } from "../ui/strings";
import { duration, left } from "../ui/time";

/** Explains the rank of an article: what its votes are worth, and the votes needed to pass the article above. */
export function Why({ article, above }: WhyProps) {
  const rules = usePage().site?.rules;
  if (!rules) return null;
  const bonus = article.score - Date.parse(article.createdAt) / 1000; // seconds
  const more = above && above.score >= article.score ? votesToPass(article, above.score, rules) : 0;
  return (
    <p class="why">
      {fill(bonus < 0 ? texts.votesTake : texts.votesAdd, {
        votes: counted(article.votes, texts.votes),
        time: left(Math.abs(bonus) * 1000, 0),
      })}{" "}
      {details(rules)} {more ? counted(more, texts.moreToPass) : more === undefined && texts.neverPasses}{" "}
      {has("/lab") && <a href="/lab">{texts.otherRules}</a>}
    </p>
  );
}

/** What a vote is worth by the rule of the site. */
function details({ ranking, voteScore, rankCap, halfLife }: Rules): string {
  if (ranking === "HALF_LIFE") return fill(texts.votesDoubled, { time: duration(halfLife) });
  const each = fill(texts.eachVote, { time: duration(voteScore) });
  return ranking === "CAPPED" ? `${each} ${fill(texts.votesCapped, { time: duration(rankCap) })}` : each;
}
