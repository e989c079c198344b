import type { RowFragment, VoteDirection } from "./gql";
import { useSend } from "./mutations";
import { usePage } from "./page";
import { explainError } from "./problem";
import { counted, fill, short, texts } from "./strings";
import { closing } from "./time";

interface VotesProps {
  article: RowFragment;
  now: number;
  /** Id of the element that explains the rank, if the number of votes is a button for that. */
  explains?: string;
  explained?: boolean;
  explain?(on: boolean): void;
}

/**
 * The votes of an article, with buttons. The viewer's own vote shows at once, before the server confirms
 * it.
 */
export function Votes({ article, now, explains, explained, explain }: VotesProps) {
  const { site, viewer, say } = usePage();
  const { send } = useSend("Vote");
  const { id, title, viewerVote: own } = article;
  const open = now < closing(article);

  const next = (direction: VoteDirection) => (own === direction ? "NONE" : direction);
  const press = async (direction: VoteDirection) => {
    const { data, error } = await send({ article: id, direction: next(direction) });
    const refused = data?.vote?.userErrors[0];
    if (refused) say(fill(texts.voteRefused, { reason: refused.message }));
    else if (error) say(`${explainError(error)} ${texts.voteInDoubt}`);
  };
  const disabled = !open || (viewer !== undefined && !article.viewerCanVote);
  // Until the script has taken over a page that the server rendered, the buttons send its form, if it has one.
  const button = (direction: "UP" | "DOWN") => (
    <button
      type="submit"
      form="vote"
      name="vote"
      value={`${id} ${next(direction)}`}
      class={direction === "UP" ? "up" : "down"}
      aria-label={fill(direction === "UP" ? texts.voteUp : texts.voteDown, { title })}
      aria-pressed={own === direction}
      disabled={disabled}
      onClick={(event) => {
        event.preventDefault();
        press(direction);
      }}
    >
      <svg aria-hidden="true" viewBox="0 0 16 16">
        <path d={direction === "UP" ? "M8 3l6 8H2z" : "M8 13L2 5h12z"} />
      </svg>
    </button>
  );
  const votes = counted(article.votes, texts.votes);
  const few = short(article.votes);
  const number = <span aria-hidden="true">{few}</span>;
  const each = `${counted(article.upvotes, texts.votesUp)}, ${counted(article.downvotes, texts.votesDown)}`;
  return (
    <div class="votes" data-own={own ?? undefined}>
      {button("UP")}
      {explains ? (
        <button
          type="button"
          class="count"
          title={each}
          aria-label={fill(texts.whyHere, {
            votes: votes.startsWith(few) ? votes : `${few} (${votes})`,
            title,
          })}
          aria-expanded={explained}
          aria-controls={explains}
          onClick={() => explain?.(!explained)}
        >
          {number}
        </button>
      ) : (
        <span class="count" title={each}>
          {number}
          <span class="unseen">{votes}</span>
        </span>
      )}
      {site?.rules.downvotes && button("DOWN")}
    </div>
  );
}
