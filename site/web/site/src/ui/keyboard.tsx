import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { has, navigate } from "./router";
import { browserStorage } from "./storage";
import { texts } from "./strings";

const switchKey = "frontpage.keys"; // deciding.tsx has it, too

/**
 * Keyboard shortcuts and their help. Single keys can be disabled, because they conflict with speech input.
 */
export function Keyboard() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [on, setOn] = useState(() => browserStorage.get(switchKey) !== "off");
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select")) return;
      if (event.key === "?")
        return dialog.current?.open ? dialog.current.close() : dialog.current?.showModal();
      if (!on || document.querySelector("dialog[open]")) return;
      const chord = before + event.key;
      before = event.key === "g" ? "g " : "";
      if (act(chord) || act(event.key)) event.preventDefault();
    };
    let before = "";
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [on]);

  const toggle = () => {
    browserStorage.set(switchKey, on ? "off" : "on");
    setOn(!on);
  };
  return (
    <dialog ref={dialog} aria-labelledby="keys">
      <h2 id="keys">{texts.keys}</h2>
      <KeyHelp help={texts.keyHelp}>
        <label>
          <input type="checkbox" checked={on} onChange={toggle} /> {texts.enableKeys}
        </label>
      </KeyHelp>
    </dialog>
  );
}

interface KeyHelpProps {
  help: Record<string, string>;
  children?: ComponentChildren;
}

/** The content of a dialog: what each key does, and a button to close it. */
export function KeyHelp({ help, children }: KeyHelpProps) {
  return (
    <>
      <dl>
        {Object.entries(help).map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      {children}
      <form method="dialog">
        <button class="button" type="submit">
          {texts.close}
        </button>
      </form>
    </>
  );
}

/** Executes the shortcut of a key, or of two in a row, and reports whether there is one. */
function act(key: string): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-id]")];
  const current = document.activeElement?.closest<HTMLElement>("[data-id]") ?? null;
  const at = current ? rows.indexOf(current) : -1;
  const go = (row?: HTMLElement) => {
    const title = row?.querySelector<HTMLElement>(".title");
    title?.focus();
    title?.scrollIntoView({ block: "nearest" });
  };
  const path = { "g h": "/", "g n": "/new", c: "/submit" }[key];
  if (path) {
    navigate(path);
    return true;
  }
  switch (key) {
    case "/": {
      const field = document.querySelector<HTMLElement>("#find, .seek input");
      if (field?.checkVisibility()) field.focus();
      else if (has("/search")) navigate("/search");
      return true;
    }
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
      // On the page of an article, the keys apply to that article.
      const row = current ?? document.querySelector("article[data-id]");
      row?.querySelector<HTMLElement>(key === "u" ? ".up" : ".down")?.click();
      return row !== null;
    }
  }
  return false;
}
