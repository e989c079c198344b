import { type RowFragment, Vote, type VoteDirection } from "../data/gql";
import { useSend } from "../data/mutations";
import { usePage } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { counted, fill, short, texts } from "../ui/strings";
import { closing } from "../ui/time";

interface VotesProps {
  article: RowFragment;
  now: number;
}

/** How the viewer can vote on an article: `press` votes in a direction, or takes that vote back. */
export function useVoting({ article, now }: VotesProps) {
  const { viewer, say } = usePage();
  const { send } = useSend("Vote", Vote);
  const { id, viewerVote: own } = article;
  const next = (direction: VoteDirection) => (own === direction ? "NONE" : direction);
  const press = async (direction: VoteDirection) => {
    const { data, error } = await send({ article: id, direction: next(direction) });
    const refused = data?.vote?.userErrors[0];
    if (refused) say(fill(texts.voteRefused, { reason: explainRefusal(refused) }));
    else if (error) say(`${explainError(error)} ${texts.voteInDoubt}`);
  };
  const closed = now >= closing(article);
  return { next, press, closed, disabled: closed || (viewer !== undefined && !article.viewerCanVote) };
}

/**
 * The votes of an article: a button to vote up with their number, and one to vote down. The viewer's own vote shows at
 * once, before the server confirms it.
 */
export function Votes({ article, now }: VotesProps) {
  const { site } = usePage();
  const { next, press, disabled } = useVoting({ article, now });
  const { id, title, upvotes, downvotes, viewerVote: own } = article;
  const votes = counted(article.votes, texts.votes);
  const few = short(article.votes);
  // Until the script has taken over a page that the server rendered, the buttons send its form, if it has one.
  const button = (direction: "UP" | "DOWN") => (
    <button
      type="submit"
      form="vote"
      name="vote"
      value={`${id} ${next(direction)}`}
      class={direction === "UP" ? "up" : "down"}
      title={
        direction === "UP"
          ? `${counted(upvotes, texts.votesUp)}, ${counted(downvotes, texts.votesDown)}`
          : undefined
      }
      aria-label={
        direction === "UP"
          ? fill(texts.voteUp, { votes: votes.startsWith(few) ? votes : `${few} (${votes})`, title })
          : texts.voteDown
      }
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
      {direction === "UP" && <span class="count">{few}</span>}
    </button>
  );
  return (
    <div class="votes" data-own={own ?? undefined}>
      {button("UP")}
      {site?.rules.downvotes && button("DOWN")}
    </div>
  );
}
