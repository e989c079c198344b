import type { ArticleQuery } from "../data/gql";
import { config, texts } from "../ui/strings";

interface Props {
  article: NonNullable<ArticleQuery["article"]>;
}

/** Why a moderator deleted or changed an article, for its poster and moderators. */
export function Removed({ article: { removal } }: Props) {
  if (!removal) return null;
  const { redress } = removal;
  // A web or mail address is among the links of the footer.
  const url = redress && config.links.find(({ url }) => url.endsWith(redress))?.url;
  return (
    <>
      <p class="removal" dir="auto">
        {texts.moderatorsReason} {texts.grounds[removal.ground]}
        {removal.basis && ` (${removal.basis})`}
        {removal.reason && `: ${removal.reason}`}
      </p>
      {redress && (
        <p class="removal" dir="auto">
          {texts.toObject} {url ? <a href={url}>{redress}</a> : redress}
        </p>
      )}
    </>
  );
}

/** A deleted article, for its poster and moderators. One that was watched when it was deleted is empty. */
export function Deleted({ article }: Props) {
  return (
    <>
      <Removed article={article} />
      {article.title && <h2 dir="auto">{article.title}</h2>}
      {article.text && (
        <div class="text" dir="auto">
          {article.text}
        </div>
      )}
    </>
  );
}
