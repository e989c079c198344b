import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { askToSignIn } from "../data/asking";
import { usePage } from "../data/page";
import type { Rules } from "../data/rank";
import { signOut } from "../data/session";
import { feeds, has, paths } from "../ui/router";
import { browserStorage } from "../ui/storage";
import { config, fill, filled, texts } from "../ui/strings";
import { duration } from "../ui/time";
import { preload } from "./load";

/** The top of every page. `checking` is true until it is known whether the visitor is signed in. */
export function Header({ path, checking }: { path: string; checking: boolean }) {
  const { site, viewer } = usePage();
  const visitor = viewer ? (
    <a class="name" dir="auto" href={paths.user(viewer)}>
      {viewer}
    </a>
  ) : (
    !checking && (
      <a href="/signin" onClick={(event) => askToSignIn(site, event)}>
        {texts.signIn}
      </a>
    )
  );
  return (
    <header class="top" onPointerOver={preload} onFocusIn={preload}>
      <div class="shell">
        <a class="brand" href="/">
          {config.logo ? (
            <img src={config.logo} alt="" />
          ) : (
            <svg aria-hidden="true" viewBox="0 0 16 16">
              <path d="M1 2h14v3H1zM1 7h10v3H1zM1 12h6v3H1z" />
            </svg>
          )}
          <span>{config.name}</span>
        </a>
        <nav aria-label={texts.site}>
          <Link to="/" path={path} text={texts.hot} />
          <Link to="/new" path={path} text={texts.new} />
          <Link to="/top/day" path={path} text={texts.top} under="/top/" />
          <Link to="/past" path={path} text={texts.past} under="/past/" />
          <Link to="/groups" path={path} text={texts.groups} />
        </nav>
        {has("/search") && (
          <search>
            <form class="seek" action="/search">
              <input
                type="search"
                name="q"
                aria-label={texts.search}
                placeholder={texts.search}
                maxLength={200}
                required
              />
            </form>
          </search>
        )}
        <div class="who">
          <a class="button" href="/submit">
            <span>{texts.submit}</span>
          </a>
          {visitor}
          <Menu key={path}>{visitor}</Menu>
        </div>
      </div>
    </header>
  );
}

interface LinkProps {
  to: string;
  path: string;
  text: string;
  /** The beginning of the other paths of this part of the site. */
  under?: string;
}

function Link({ to, path, text, under }: LinkProps) {
  if (!has(to)) return null;
  const current = path === to ? "page" : under && path.startsWith(under) ? "true" : undefined;
  return (
    <a href={to} aria-current={current}>
      {text}
    </a>
  );
}

const themeKey = "frontpage.theme"; // early.js reads it before the page is shown
const themes = ["system", "light", "dark"] as const; // the last two in the order of the page's theme colours

/**
 * What is about the visitor: their pages, the colours, and signing out. Its children are the link of the header that
 * narrow screens have here.
 */
function Menu({ children }: { children: ComponentChildren }) {
  const { site, viewer, tools, refresh, say } = usePage();
  const [theme, setTheme] = useState(() => browserStorage.get(themeKey) ?? "system");
  useEffect(() => {
    if (theme === "system") browserStorage.remove(themeKey);
    else browserStorage.set(themeKey, theme);
    document.documentElement.dataset.theme = theme;
    document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]").forEach((meta, i) => {
      const scheme = themes[i + 1];
      meta.media =
        theme === "system" ? `(prefers-color-scheme: ${scheme})` : theme === scheme ? "" : "not all";
    });
  }, [theme]);
  const leave = () => {
    signOut();
    refresh();
    say(texts.hasSignedOut);
  };
  return (
    <>
      <button type="button" class="open" popovertarget="menu" aria-label={texts.menu}>
        <svg aria-hidden="true" viewBox="0 0 16 16">
          <path d="M2 4h12M2 8h12M2 12h12" />
        </svg>
      </button>
      <div id="menu" class="menu" popover="auto">
        {children}
        {viewer && (
          <>
            <a href={paths.user(viewer)}>{texts.profile}</a>
            <a href="/saved">{texts.savedOfViewer}</a>
            <a href="/following">{texts.followedByViewer}</a>
            {has("/votes") && <a href="/votes">{texts.votesOfViewer}</a>}
            {tools?.entry}
          </>
        )}
        <Links />
        <button type="button" onClick={showKeys}>
          {texts.keys}
        </button>
        <fieldset>
          <legend>{texts.theme}</legend>
          {themes.map((each) => (
            <label key={each} class="choice">
              <input type="radio" name="theme" checked={theme === each} onChange={() => setTheme(each)} />
              {texts.themes[each]}
            </label>
          ))}
        </fieldset>
        {viewer && site?.signIn !== "PROXY" && (
          <form method="post" action="/sign-out">
            <button
              type={site?.signIn === "SESSION" ? "submit" : "button"}
              onClick={() => site?.signIn !== "SESSION" && leave()}
            >
              {texts.signOut}
            </button>
          </form>
        )}
      </div>
    </>
  );
}

/** Shows the keyboard shortcuts, as their key does. */
const showKeys = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));

export function Footer() {
  const { site } = usePage();
  return (
    <footer class="shell">
      {site && (
        <p>
          {texts.rankedBy} {rule(site.rules)}{" "}
          {has("/lab") && (
            <>
              <a href="/lab">{texts.otherRules}</a>.
            </>
          )}
        </p>
      )}
      <p>{filled(texts.pressKey, { key: <kbd>?</kbd> })}</p>
      <p class="links">
        <Links />
      </p>
    </footer>
  );
}

/** Search, the links of the operator, the feed of the page, and the API. */
function Links() {
  const { site } = usePage();
  return (
    <>
      {has("/search") && <a href="/search">{texts.search}</a>}
      {config.links.map(({ text, url }) => (
        <a key={text} href={url}>
          {text}
        </a>
      ))}
      <a href={`${feeds(location.pathname)}/feed.atom`}>{texts.feed}</a>
      {site?.explorer && <a href="/graphiql">{texts.api}</a>}
    </>
  );
}

/** How votes change the rank. */
function rule({ ranking, voteScore, rankCap, halfLife }: Rules): string {
  if (ranking === "HALF_LIFE") return fill(texts.ruleHalfLife, { time: duration(halfLife) });
  const minutes = `${Math.round(voteScore / 6) / 10}`.replace(".", texts.decimal);
  return ranking === "CAPPED"
    ? fill(texts.ruleCapped, { minutes, cap: duration(rankCap) })
    : fill(texts.ruleVote, { minutes });
}
