import { useEffect, useRef, useState } from "preact/hooks";
import { ofBrowser } from "./storage";

const switchKey = "frontpage.keys";

const help: [string, string][] = [
  ["j  k", "next, previous article"],
  ["Enter", "open it"],
  ["o", "open its own page here"],
  ["u  d", "vote up, down; again takes it back"],
  ["?", "show or hide this"],
];

/** Keys for whoever reads without a mouse. They can be switched off, for speech and other ways of typing. */
export function Keyboard() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [on, setOn] = useState(() => ofBrowser.get(switchKey) !== "off");
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select")) return;
      if (event.key === "?")
        return dialog.current?.open ? dialog.current.close() : dialog.current?.showModal();
      if (on && !dialog.current?.open && act(event.key)) event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [on]);

  const toggle = () => {
    ofBrowser.set(switchKey, on ? "off" : "on");
    setOn(!on);
  };
  return (
    <dialog ref={dialog} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <dl>
        {help.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split("  ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label>
        <input type="checkbox" checked={on} onChange={toggle} /> Single keys do this
      </label>
      <form method="dialog">
        <button class="button" type="submit">
          Close
        </button>
      </form>
    </dialog>
  );
}

/** Does what a key stands for, and reports whether it stands for anything. */
function act(key: string): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-id]")];
  const current = document.activeElement?.closest<HTMLElement>("[data-id]") ?? null;
  const at = current ? rows.indexOf(current) : -1;
  const go = (row?: HTMLElement) => {
    const title = row?.querySelector<HTMLElement>(".title");
    title?.focus();
    title?.scrollIntoView({ block: "nearest" });
  };
  switch (key) {
    case "j":
      go(current ? rows[at + 1] : rows.find((row) => row.getBoundingClientRect().top >= 0));
      return true;
    case "k":
      go(current ? rows[at - 1] : rows.findLast((row) => row.getBoundingClientRect().top < 0));
      return true;
    case "o":
      current?.querySelector<HTMLElement>("time")?.click();
      return current !== null;
    case "u":
    case "d": {
      // The page of an article is all about it.
      const row = current ?? document.querySelector("article[data-id]");
      row?.querySelector<HTMLElement>(key === "u" ? ".up" : ".down")?.click();
      return row !== null;
    }
  }
  return false;
}
