import { FromPage } from "./from";
import { GroupsPage } from "./groups";
import { LabPage } from "./lab";
import { usePage } from "./page";
import { PastPage } from "./past";
import type { LaterRoute } from "./router";
import { SignInPage } from "./signin";
import { SubmitPage } from "./submit";
import { TopPage } from "./top";
import { VotesPage } from "./votes";

// The second script of the site: what most visits do not need. It is loaded on demand, see load.ts.

export { Delete, Edit } from "./edit";
export { Neighbours } from "./neighbours";
export { Deleted, Removed } from "./removed";
export { Standing } from "./standing";

export function Page({ route }: { route: LaterRoute }) {
  const { site } = usePage();
  switch (route.page) {
    case "from":
      return <FromPage name={route.name} />;
    case "groups":
      return <GroupsPage />;
    case "lab":
      return <LabPage />;
    case "past":
      return <PastPage name={route.day} />;
    case "signin":
      return site ? <SignInPage site={site} /> : null;
    case "submit":
      return <SubmitPage />;
    case "top":
      return <TopPage span={route.span} />;
    case "votes":
      return <VotesPage direction={route.direction} />;
  }
}
