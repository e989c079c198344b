import type { RowFragment, VoteDirection } from "./gql";
import { useSend } from "./mutations";
import { usePage } from "./page";
import { explainError } from "./problem";
import { counted } from "./text";
import { closing } from "./time";

/**
 * The votes of an article, with buttons. The viewer's own vote shows at once, before the server confirms
 * it.
 */
export function Votes({ article, now }: { article: RowFragment; now: number }) {
  const { site, viewer, say } = usePage();
  const { send } = useSend("Vote");
  const open = now < closing(article);
  const own = article.viewerVote;

  const press = async (direction: VoteDirection) => {
    const { data, error } = await send({
      article: article.id,
      direction: own === direction ? "NONE" : direction,
    });
    const refused = data?.vote?.userErrors[0];
    if (refused) say(`Your vote was not counted: ${refused.message}.`);
    else if (error) say(`${explainError(error)} Your vote may not have been counted.`);
  };
  const disabled = !open || (viewer !== undefined && !article.viewerCanVote);
  const button = (direction: "UP" | "DOWN", name: string) => (
    <button
      type="button"
      class={direction === "UP" ? "up" : "down"}
      aria-label={`Vote ${name}: ${article.title}`}
      aria-pressed={own === direction}
      disabled={disabled}
      onClick={() => press(direction)}
    >
      <svg aria-hidden="true" viewBox="0 0 16 16">
        <path d={direction === "UP" ? "M8 3l6 8H2z" : "M8 13L2 5h12z"} />
      </svg>
    </button>
  );
  return (
    <div class="votes" data-own={own ?? undefined}>
      {button("UP", "up")}
      <span
        class="count"
        title={`${counted(article.upvotes, "vote")} up, ${counted(article.downvotes, "vote")} down`}
      >
        <span aria-hidden="true">{short(article.votes)}</span>
        <span class="unseen">{counted(article.votes, "vote")}</span>
      </span>
      {site?.rules.downvotes && button("DOWN", "down")}
    </div>
  );
}

/** A short form: 12, 950, 1.2k, with a typographic minus sign. */
function short(votes: number): string {
  const size = Math.abs(votes);
  const text =
    size < 1000 ? `${size}` : size < 99_950 ? `${(size / 1000).toFixed(1)}k` : `${Math.round(size / 1000)}k`;
  return votes < 0 ? `\u2212${text}` : text;
}
