// <frontpage-vote article="17"> or <frontpage-vote link="https://...">: the votes of an article, for pages of other origins.
const site = new URL(import.meta.url).origin;
const interval = 10_000; // milliseconds between two readings; the answer may be 5 s old
const most = 50; // keys of one reading

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
:host { display: inline-block; font: inherit }
:host([hidden]) { display: none }
button { font: inherit; color: inherit; background: none; border: 1px solid; border-radius: .4em; padding: .2em .6em; cursor: pointer }
button[aria-pressed=true] { font-weight: bold; background: #8883 }
button:disabled { opacity: .6; cursor: default }
button:focus-visible { outline: 2px solid; outline-offset: 2px }
`);

const tallies = new Map(); // by key: the newest of the article
const own = new Map(); // by id: the visitor's vote, once this page knows it
const near = new Set(); // elements in the viewport, or nearly
let timer;
let popup;

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) near[isIntersecting ? "add" : "delete"](target);
    plan(0);
  },
  { rootMargin: "300px" },
);

function plan(wait) {
  clearTimeout(timer);
  if (near.size > 0 && !document.hidden) timer = setTimeout(read, wait);
}

async function read() {
  const keys = [...new Set([...near].map(({ key }) => key))].sort().slice(0, most);
  const of = new URLSearchParams(keys.map((key) => ["of", key]));
  try {
    const response = await fetch(`${site}/embed/votes?${of}`, { credentials: "omit" });
    if (response.ok) {
      const { votes } = await response.json();
      for (const [i, key] of keys.entries()) take(key, votes[i]);
    }
  } catch {
    // The site cannot be reached: the next reading may.
  }
  plan(interval);
}

// Takes a tally unless it is older than the one that is shown: an answer may come from a cache.
function take(key, tally) {
  if (tally && tally.revision < tallies.get(key)?.revision) return;
  tallies.set(key, tally);
  for (const element of near) if (element.key === key) element.show();
}

document.addEventListener("visibilitychange", () => plan(0));

addEventListener("message", ({ origin, source, data }) => {
  if (origin !== site || !source || source !== popup) return;
  const { id, revision, votes, upvotes, downvotes, viewerVote } = data?.voted ?? {};
  if (!id) return;
  own.set(id, viewerVote);
  for (const [key, known] of tallies)
    if (known?.id === id) take(key, { ...known, revision, votes, upvotes, downvotes });
  for (const element of near)
    if (tallies.get(element.key)?.id === id)
      element.dispatchEvent(new CustomEvent("vote", { bubbles: true, detail: { votes, viewerVote } }));
});

customElements.define(
  "frontpage-vote",
  class extends HTMLElement {
    static observedAttributes = ["article", "link"];

    // What the votes are of: the article, or the link; without either, this page.
    get key() {
      const number = this.getAttribute("article");
      return number
        ? `article:${number.replace("article:", "")}`
        : (this.getAttribute("link") ?? location.href.split("#")[0]);
    }

    connectedCallback() {
      if (!this.shadowRoot) {
        const root = this.attachShadow({ mode: "open" });
        root.adoptedStyleSheets = [sheet];
        const button = document.createElement("button");
        button.type = "button";
        button.part = "button";
        button.addEventListener("click", () => this.vote());
        root.append(button);
      }
      this.show();
      watcher.observe(this);
    }

    disconnectedCallback() {
      watcher.unobserve(this);
      near.delete(this);
    }

    attributeChangedCallback() {
      if (!this.shadowRoot) return;
      this.show();
      plan(0);
    }

    show() {
      const tally = tallies.get(this.key);
      const button = this.shadowRoot.firstChild;
      button.disabled = !tally;
      button.textContent = `▲ ${tally ? tally.votes : "–"}`;
      button.ariaPressed = `${own.get(tally?.id) === "UP"}`;
      button.ariaLabel = tally && `${tally.title}: ${tally.votes} ▲, ${new URL(site).host}`;
    }

    // The site's own window has the visitor's sign-in, which this page never sees.
    vote() {
      const query = new URLSearchParams({ article: tallies.get(this.key).id, origin: location.origin });
      popup = open(`${site}/embed/vote?${query}`, "frontpage-vote", "popup,width=480,height=400");
    }
  },
);
