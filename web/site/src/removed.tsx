import type { ArticleQuery } from "./gql";
import { texts } from "./strings";

interface Props {
  article: NonNullable<ArticleQuery["article"]>;
}

/** Why a moderator deleted or changed an article, for its poster and moderators. */
export function Removed({ article: { removal } }: Props) {
  if (!removal) return null;
  const { redress } = removal;
  const url = redress && address(redress);
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

/** The URL of a contact that is a web or a mail address, as ContactURL of web/contact.go. */
const address = (text: string) => {
  if (/^https?:\/\/\S+$/.test(text)) return text;
  if (/^[^\s@:/?]+@[^\s@:/?]+$/.test(text)) return `mailto:${text}`;
};

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
