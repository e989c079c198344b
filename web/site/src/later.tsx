import { Delete, Edit } from "./edit";
import { FromPage } from "./from";
import { GroupsPage } from "./groups";
import { LabPage } from "./lab";
import { usePage } from "./page";
import { PastPage } from "./past";
import type { LaterRoute } from "./router";
import { SignInPage } from "./signin";
import { SubmitPage } from "./submit";
import { ModerationPage, NoticePage, OwnReports, Report } from "./third";
import { TopPage } from "./top";
import { VotesPage } from "./votes";

// The second script of the site: what most visits do not need. It is loaded on demand, see load.ts.

export { Neighbours } from "./neighbours";
export { Deleted, Removed } from "./removed";
export { share } from "./share";
export { Standing } from "./standing";

/** What opens below the actions of an article. */
export const forms = { edit: Edit, delete: Delete, report: Report };

export function Page({ route }: { route: LaterRoute }) {
  const { site } = usePage();
  switch (route.page) {
    case "from":
      return <FromPage name={route.name} />;
    case "groups":
      return <GroupsPage />;
    case "lab":
      return <LabPage />;
    case "mod":
      return <ModerationPage tab={route.part} />;
    case "notice":
      return <NoticePage />;
    case "past":
      return <PastPage name={route.day} />;
    case "reports":
      return <OwnReports />;
    case "signin":
      return site ? <SignInPage site={site} /> : null;
    case "submit":
      return <SubmitPage />;
    case "top":
      return <TopPage span={route.part} />;
    case "votes":
      return <VotesPage direction={route.part} />;
  }
}
