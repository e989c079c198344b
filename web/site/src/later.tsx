import { GroupsPage } from "./groups";
import type { LaterRoute } from "./router";
import { SubmitPage } from "./submit";

// The second script of the site: what most visits do not need. It is loaded on demand, see load.ts.

export function Page({ route }: { route: LaterRoute }) {
  switch (route.page) {
    case "groups":
      return <GroupsPage />;
    case "submit":
      return <SubmitPage />;
  }
}
