import { usePage } from "./page";
import { navigate, paths } from "./router";
import { signInAddress } from "./session";
import { site } from "./site";

/** `asking` is while the server is asked who is signed in. */
export function Header({ path, asking }: { path: string; asking: boolean }) {
  const { viewer } = usePage();
  return (
    <header class="top">
      <div class="shell">
        <a class="brand" href="/">
          <svg aria-hidden="true" viewBox="0 0 16 16">
            <path d="M1 2h14v3H1zM1 7h10v3H1zM1 12h6v3H1z" />
          </svg>
          Frontpage
        </a>
        <nav aria-label="Site">
          <Link to="/" path={path}>
            Top
          </Link>
          <Link to="/new" path={path}>
            New
          </Link>
          <Link to="/g/interesting" path={path}>
            Interesting
          </Link>
          <Link to="/groups" path={path}>
            Groups
          </Link>
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
            !asking && (
              <a href="/signin" onClick={askToSignIn}>
                Sign in
              </a>
            )
          )}
        </div>
      </div>
    </header>
  );
}

function Link({ to, path, children }: { to: string; path: string; children: string }) {
  return (
    <a href={to} aria-current={path === to ? "page" : undefined}>
      {children}
    </a>
  );
}

/** Goes to where people sign in, and has them come back to where they are. */
export function askToSignIn(event?: Event): void {
  event?.preventDefault();
  const here = location.pathname === "/signin" ? "/" : location.pathname + location.search;
  if (site.signInURL) location.assign(signInAddress(here));
  else navigate(`/signin?${new URLSearchParams({ to: here })}`);
}

export function Footer() {
  return (
    <footer class="shell">
      <p>
        An article ranks by its time of posting, and each net vote puts it{" "}
        {Math.round(site.voteScore / 6) / 10} minutes ahead.
      </p>
      <p>
        Press <kbd>?</kbd> for keys.
        {site.explorer && (
          <>
            {" "}
            All of this is made from <a href="/graphiql">the API</a>.
          </>
        )}
      </p>
    </footer>
  );
}
