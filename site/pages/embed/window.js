// The window in which visitors of other sites vote. Only this origin's scripts know who has signed in.
const { article, origin } = document.querySelector("main").dataset;
const buttons = [...document.querySelectorAll("button[value]")];
const [said, signIn] = ["said", "sign-in"].map((id) => document.getElementById(id));

/** Returns what identifies the visitor besides a cookie, as the site's own script does. */
function credentials() {
  try {
    const method = localStorage.getItem("frontpage.signIn");
    const name = sessionStorage.getItem("frontpage.name") ?? localStorage.getItem("frontpage.name");
    const token = localStorage.getItem("frontpage.token");
    const utf8 = (text) => String.fromCharCode(...new TextEncoder().encode(text));
    if (name && (method ?? "NAME") === "NAME") return { "X-User-ID": utf8(name) };
    return token && (method ?? "TOKEN") === "TOKEN" ? { Authorization: `Bearer ${token}` } : {};
  } catch {
    return {}; // storage is disabled
  }
}

for (const button of buttons)
  button.addEventListener("click", async () => {
    const direction = button.ariaPressed === "true" ? "NONE" : button.value;
    for (const each of buttons) each.disabled = true;
    const response = await fetch("/embed/vote", {
      method: "POST",
      headers: { ...credentials(), "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ vote: `${article} ${direction}` }),
    }).catch(() => undefined);
    const { data, errors } = (await response?.json().catch(() => undefined)) ?? {};
    for (const each of buttons) each.disabled = false;
    const voted = data?.vote?.article;
    const problem = data?.vote?.userErrors[0] ?? errors?.[0];
    signIn.hidden = response?.status !== 401 && problem?.code !== "UNAUTHENTICATED";
    said.textContent = signIn.hidden ? (problem?.message ?? (voted ? "" : said.dataset.failed)) : "";
    if (problem || !voted) return;
    document.getElementById("votes").textContent = voted.votes;
    for (const each of buttons) each.ariaPressed = `${voted.viewerVote === each.value}`;
    window.opener?.postMessage({ voted }, origin);
  });

document.getElementById("close").addEventListener("click", () => window.close());
