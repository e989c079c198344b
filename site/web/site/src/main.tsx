import { render } from "preact";
import { App } from "./app";
import { takeOver } from "./data/client";
import { isUnanswered } from "./data/mutations";
import { readSession } from "./data/session";
import { load } from "./pages/load";
import { place, startRouter } from "./ui/router";
import { configure } from "./ui/strings";

/** Waits until the browser has drawn what the server has rendered, which would otherwise come after all that follows. */
function drawn() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 100); // browsers draw no frames of hidden windows
  });
}

/** Renders the page. What the server has rendered stays until the same can be shown. */
async function start() {
  await Promise.all([configure(), drawn()]);
  startRouter();
  // What was read before a mutation is repeated may lack its effect.
  const rendered = isUnanswered() ? undefined : await takeOver(readSession(), place());
  if (rendered?.later) await load().catch(() => {});
  render(<App />, document.getElementById("app") as HTMLElement);
  dispatchEvent(new Event("takeover"));
}

void start();
