// @vitest-environment happy-dom
// The examples, against a real server.
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { mount, unmount } from "svelte";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "vue";
import { createClient, App as ReactApp } from "../examples/react/App.tsx";
import SvelteApp from "../examples/svelte/App.svelte";
import VueApp from "../examples/vue/App.vue";
import { standing, titled, url, vote } from "./server.ts";

type Show = (target: HTMLElement, headers: Record<string, string>) => () => void;

const run = Date.now(); // its users have not voted yet, if the server is not a new one

const react: Show = (target, headers) => {
  const root = createRoot(target);
  root.render(createElement(ReactApp, { client: createClient(url, headers) }));
  return () => root.unmount();
};
const vue: Show = (target, headers) => {
  const app = createApp(VueApp, { url, headers });
  app.mount(target);
  return () => app.unmount();
};
const svelte: Show = (target, headers) => {
  const app = mount(SvelteApp, { target, props: { url, headers } });
  return () => unmount(app);
};

describe.each([
  ["react", react, 0],
  ["vue", vue, 1],
  ["svelte", svelte, 2],
] as const)("%s", (name, show, at) => {
  test("a list in pages, votes at once, live counts, and a refusal", async () => {
    const target = document.body.appendChild(document.createElement("div"));
    const end = show(target, { "X-User-ID": `example-${name}-${run}` });
    const rows = () => [...target.querySelectorAll("li")];
    await vi.waitFor(() => expect(rows()).toHaveLength(10), 10_000);
    const id = await titled(rows()[at]?.textContent ?? "");
    const button = () => rows()[at]?.querySelector("button") as HTMLButtonElement;
    const { votes: before } = await standing("", id);
    expect(button().textContent).toBe(`${before}`);

    button().click();
    await vi.waitFor(() => expect(button().textContent).toBe(`${before + 1}`));
    expect(button().getAttribute("aria-pressed")).toBe("true");
    const own = () => standing(`example-${name}-${run}`, id);
    await vi.waitFor(async () => expect(await own()).toEqual({ votes: before + 1, viewerVote: "UP" }), 5000);

    await vote(`example-${name}-other-${run}`, id);
    await vi.waitFor(() => expect(button().textContent).toBe(`${before + 2}`), 5000);

    target.querySelector<HTMLButtonElement>(".more")?.click();
    await vi.waitFor(() => expect(rows()).toHaveLength(20), 5000);
    expect(button().textContent).toBe(`${before + 2}`);
    end();
    target.remove();
  });

  test("a refused vote is taken back, and the page says why", async () => {
    const target = document.body.appendChild(document.createElement("div"));
    const end = show(target, {});
    const button = () => target.querySelector("li button") as HTMLButtonElement;
    await vi.waitFor(() => expect(button()).not.toBeNull(), 10_000);
    const before = button().textContent;
    button().click();
    const said = () => target.querySelector("[role=status]")?.textContent;
    await vi.waitFor(() => expect(said()).toMatch(/sign/), 5000);
    expect(button().textContent).toBe(before);
    end();
    target.remove();
  });
});
