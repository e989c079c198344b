import { usePage } from "../data/page";
import { useTitle } from "../ui/hooks";
import { KeyHelp } from "../ui/keyboard";
import type { LaterRoute } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { texts } from "../ui/strings";
import { Reports } from "./queue";
import { DeniedList, LogEntries, RemovedArticles } from "./records";

// The third script of the site, see third.tsx.

type Tab = Extract<LaterRoute, { page: "mod" }>["part"];

const tabs: Tab[] = [undefined, "REMOVED", "DENIED", "LOG"];
const lists = { REMOVED: RemovedArticles, DENIED: DeniedList, LOG: LogEntries };

/** The pages for moderators. The API, not this page, keeps others from what they show. */
export function ModerationPage({ tab }: { tab?: Tab }) {
  useTitle(texts.moderation);
  const { site, moderates } = usePage();
  if (!site) return <Skeleton />;
  if (!moderates)
    return (
      <Empty level={1} title={texts.moderation}>
        <p>{texts.forModerators}</p>
      </Empty>
    );
  const List = tab ? lists[tab] : Reports;
  return (
    <>
      <header class="heading">
        <h1>{texts.moderation}</h1>
        <nav aria-label={texts.moderation}>
          {tabs.map((each) => (
            <a
              key={each}
              href={each ? `/mod/${each.toLowerCase()}` : "/mod"}
              aria-current={each === tab ? "page" : undefined}
            >
              {texts.moderationTabs[each ?? "REPORTS"]}
            </a>
          ))}
        </nav>
      </header>
      <List />
      <dialog class="moderating" aria-labelledby="moderating">
        <h2 id="moderating">{texts.keys}</h2>
        <KeyHelp help={texts.moderationKeys} />
      </dialog>
    </>
  );
}
