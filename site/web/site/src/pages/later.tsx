import { usePage } from "../data/page";
import type { LaterRoute } from "../ui/router";
import { ArticlePage } from "./article";
import { FromPage } from "./from";
import { GroupsPage } from "./groups";
import { FollowingPage, SavedPage } from "./kept";
import { PastPage } from "./past";
import { SearchPage } from "./search";
import { SignInPage } from "./signin";
import { SubmitPage } from "./submit";
import { LabPage, ModerationPage, NoticePage, OwnReports } from "./third";
import { TopPage } from "./top";
import { VotesPage } from "./votes";

// The second script of the site: what most visits do not need. It is loaded on demand, see load.ts.

export { follow } from "../data/keep";
export { repeat } from "../data/repeat";
export { Keyboard } from "../ui/keyboard";
export { Sheet } from "./sheet";
export { Why } from "./why";

export function Page({ route }: { route: LaterRoute }) {
  const { site } = usePage();
  switch (route.page) {
    case "article":
      return <ArticlePage id={route.id} />;
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
    case "saved":
      return <SavedPage />;
    case "following":
      return <FollowingPage />;
    case "search":
      return <SearchPage />;
    case "signin":
      return site ? <SignInPage site={site} /> : null;
    case "submit":
      return <SubmitPage />;
    case "top":
      return <TopPage span={route.part} group={route.group} />;
    case "votes":
      return <VotesPage direction={route.part} />;
  }
}
