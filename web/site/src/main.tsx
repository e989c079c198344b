import { render } from "preact";
import { App } from "./app";
import { startRouter } from "./router";

startRouter();
render(<App />, document.getElementById("app") as HTMLElement);
