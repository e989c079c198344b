import { preload } from "./load";
import { usePage } from "./page";
import type { Rules } from "./rank";
import { feeds, navigate, paths } from "./router";
import { type Site, signInAddress } from "./session";
import { duration } from "./time";

/** The top of every page. `checking` is true until it is known whether the visitor is signed in. */
export function Header({ path, checking }: { path: string; checking: boolean }) {
  const { site, viewer } = usePage();
  return (
    <header class="top" onPointerOver={preload} onFocusIn={preload}>
      <div class="shell">
        <a class="brand" href="/">
          <svg aria-hidden="true" viewBox="0 0 16 16">
            <path d="M1 2h14v3H1zM1 7h10v3H1zM1 12h6v3H1z" />
          </svg>
          Frontpage
        </a>
        <nav aria-label="Site">
          <Link to="/" path={path} text="Hot" />
          <Link to="/new" path={path} text="New" />
          <Link to="/top/day" path={path} text="Top" under="/top/" />
          <Link to="/past" path={path} text="Past" under="/past/" />
          <Link to="/g/interesting" path={path} text="Interesting" />
          <Link to="/groups" path={path} text="Groups" />
        </nav>
        <div class="who">
          <a class="button" href="/submit">
            Submit
          </a>
          {viewer ? (
            <a class="name" dir="auto" href={paths.user(viewer)}>
              {viewer}
            </a>
          ) : (
            !checking && (
              <a href="/signin" onClick={(event) => askToSignIn(site, event)}>
                Sign in
              </a>
            )
          )}
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
  const current = path === to ? "page" : under && path.startsWith(under) ? "true" : undefined;
  return (
    <a href={to} aria-current={current}>
      {text}
    </a>
  );
}

/** Goes to the sign-in page, which returns to the current page. */
export function askToSignIn(site?: Site, event?: Event): void {
  event?.preventDefault();
  const here = location.pathname === "/signin" ? "/" : location.pathname + location.search;
  if (site?.signInURL) location.assign(signInAddress(site, here));
  else navigate(`/signin?${new URLSearchParams({ to: here })}`);
}

export function Footer() {
  const { site } = usePage();
  return (
    <footer class="shell">
      {site && (
        <p>
          Articles are ranked by posting time. {rule(site.rules)} <a href="/lab">Try other rules</a>.
        </p>
      )}
      <p>
        Press <kbd>?</kbd> for keyboard shortcuts. <a href={`${feeds(location.pathname)}/feed.atom`}>Feed</a>.
        {site?.explorer && (
          <>
            {" "}
            Built on a public <a href="/graphiql">GraphQL API</a>.
          </>
        )}
      </p>
    </footer>
  );
}

/** How votes change the rank. */
function rule({ ranking, voteScore, rankCap, halfLife }: Rules): string {
  if (ranking === "HALF_LIFE") return `Each doubling of an article's votes counts as ${duration(halfLife)}.`;
  const vote = `Each net vote counts as ${Math.round(voteScore / 6) / 10} minutes`;
  return ranking === "CAPPED" ? `${vote}, all together as ${duration(rankCap)} at most.` : `${vote}.`;
}
