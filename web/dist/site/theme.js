// Runs before the page is shown, so that it does not flash in the other colours. frame.tsx has the switch.
try {
  document.documentElement.dataset.theme = localStorage.getItem("frontpage.theme") ?? "system";
} catch {
  // Storage is disabled.
}
