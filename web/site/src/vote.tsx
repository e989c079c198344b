import { useMutation } from "@urql/preact";
import { inTurn } from "./client";
import { askToSignIn } from "./frame";
import { type RowFragment, Vote, type VoteDirection } from "./gql";
import { usePage } from "./page";
import { explainError } from "./problem";
import { site } from "./site";
import { counted } from "./text";
import { closing } from "./time";

/** The votes of an article, and the viewer's own, which shows at once and settles to what the server says. */
export function Votes({ article, now }: { article: RowFragment; now: number }) {
  const { viewer, say } = usePage();
  const [, vote] = useMutation(Vote);
  const open = now < closing(article);
  const mine = article.viewerVote;

  const press = async (direction: VoteDirection) => {
    if (!viewer) return askToSignIn();
    const input = { article: article.id, direction: mine === direction ? "NONE" : direction } as const;
    const { data, error } = await vote({ input }, { fetch: inTurn });
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
      aria-pressed={mine === direction}
      disabled={disabled}
      onClick={() => press(direction)}
    >
      <svg aria-hidden="true" viewBox="0 0 16 16">
        <path d={direction === "UP" ? "M8 3l6 8H2z" : "M8 13L2 5h12z"} />
      </svg>
    </button>
  );
  return (
    <div class="votes" data-mine={mine ?? undefined}>
      {button("UP", "up")}
      <span
        class="count"
        title={`${counted(article.upvotes, "vote")} up, ${counted(article.downvotes, "vote")} down`}
      >
        <span aria-hidden="true">{short(article.votes)}</span>
        <span class="unseen">{counted(article.votes, "vote")}</span>
      </span>
      {site.downvotes && button("DOWN", "down")}
    </div>
  );
}

/** 12, 950, 1.2k, with a true minus. */
function short(votes: number): string {
  const size = Math.abs(votes);
  const text =
    size < 1000 ? `${size}` : size < 99_950 ? `${(size / 1000).toFixed(1)}k` : `${Math.round(size / 1000)}k`;
  return votes < 0 ? `\u2212${text}` : text;
}
