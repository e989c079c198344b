import { useClient, useQuery } from "@urql/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { save } from "../data/keep";
import { Goals } from "../data/later-gql";
import { type Act, type SheetProps, usePage } from "../data/page";
import { paths } from "../ui/router";
import { share } from "../ui/share";
import { counted, fill, formatNumber, texts } from "../ui/strings";
import { Report } from "./third";
import { useVoting } from "./vote";

/** The menu of an article in a list: what its row has no room for. */
export function Sheet({ article, now, place, close, explain }: SheetProps) {
  const { site, viewer, tools, say } = usePage();
  const { press, closed, disabled } = useVoting({ article, now });
  const [reports, setReports] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const client = useClient();
  const [{ data }] = useQuery({ query: Goals, variables: { id: article.id } });
  const goals = data?.article;
  const { number, title, poster, viewerVote } = article;
  const item = (text: string, act: () => void, pressed?: boolean) => (
    <li>
      <button
        type="button"
        aria-pressed={pressed}
        onClick={() => {
          dialog.current?.close();
          act();
        }}
      >
        {text}
      </button>
    </li>
  );
  const moderate = (text: string, act: Act) => item(text, () => tools?.open(article, act));
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="sheet" onClose={close} {...{ closedby: "any" }}>
      <h2 id="sheet" dir="auto">
        {title}
      </h2>
      <p class="about">{closed ? texts.votingEnded : standing(goals ?? {}, place.rank)}</p>
      {reports ? (
        <Report article={article} done={() => dialog.current?.close()} />
      ) : (
        <ul>
          {site?.rules.downvotes &&
            !disabled &&
            item(texts.voteDown, () => press("DOWN"), viewerVote === "DOWN")}
          {item(texts.share, () => share(title, say, paths.article(number)))}
          {viewer &&
            item(goals?.viewerHasSaved ? texts.dropSaved : texts.saveForLater, () =>
              save(client, say, article.id, !goals?.viewerHasSaved),
            )}
          {place.note === undefined && item(texts.whyRank, explain)}
          {viewer && viewer !== poster.name && (
            <li>
              <button type="button" onClick={() => setReports(true)}>
                {texts.report}
              </button>
            </li>
          )}
          {tools && (
            <>
              {moderate(texts.remove, "remove")}
              <li>
                <a href={paths.article(number)}>{texts.edit}</a>
              </li>
              {moderate(texts.toGroups, "groups")}
              {moderate(texts.toAuthor, "author")}
            </>
          )}
        </ul>
      )}
      <form method="dialog">
        <button class="button" type="submit">
          {texts.close}
        </button>
      </form>
    </dialog>
  );
}

/** Says where an article stands, and what the next goal takes. */
function standing(goals: { first?: number | null; tenth?: number | null }, rank?: number): string {
  const { first, tenth } = goals;
  const goal = tenth ? texts.toFirstN : first ? texts.toFirst : "";
  return [
    rank && `${fill(texts.rankN, { n: formatNumber(rank) })}.`,
    goal && fill(goal, { n: 10, votes: counted(tenth || first || 0, texts.moreVotes) }),
  ]
    .filter(Boolean)
    .join(" ");
}
