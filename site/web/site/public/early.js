// Runs before the page is shown.

// So that the page does not flash in the other colours. frame.tsx has the switch.
try {
  document.documentElement.dataset.theme = localStorage.getItem("frontpage.theme") ?? "system";
} catch {
  // Storage is disabled.
}

// The worker has a page to show while none can be loaded.
addEventListener("load", () => {
  const url = "/worker.js";
  const trusted = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => url });
  navigator.serviceWorker?.register(trusted?.createScriptURL(url) ?? url).catch(() => {});
});

// A button that needs the site's script does nothing before it has taken over the page: main.tsx says when. The last click
// on each article is then repeated, unless the button has meanwhile become what the click wanted. It is found by the article,
// whose row may have moved.
{
  const clicked = new Map();
  const keep = ({ target }) => {
    const button = target.closest?.(".votes button, .tool");
    const id = button?.closest("[data-id]")?.dataset.id;
    if (id && !button.form) clicked.set(id, [button.className, button.ariaPressed]);
  };
  const repeat = () => {
    if (!document.querySelector("#app [data-id]")) return; // the script asks for the articles again
    observer.disconnect();
    removeEventListener("click", keep, true);
    for (const [id, [name, pressed]] of clicked) {
      const button = document.querySelector(`[data-id="${id}"] .${name}`);
      if (button?.ariaPressed === pressed) button.click();
    }
  };
  const observer = new MutationObserver(repeat);
  const begin = () => {
    observer.observe(document.body, { childList: true, subtree: true });
    repeat();
  };
  addEventListener("click", keep, true);
  addEventListener("takeover", begin, { once: true });
}
