// Runs before the page is shown, so that it does not flash in the other colours. frame.tsx has the switch.
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
