import { useEffect, useRef } from "preact/hooks";
import { usePage, useTitle } from "./page";
import { navigate, remember } from "./router";
import { signInAddress, signInAs, signInWith, takeToken, wayBack } from "./session";
import { site } from "./site";

export function SignInPage() {
  useTitle("Sign in");
  const { refresh, say } = usePage();
  const input = useRef<HTMLInputElement>(null);
  const to = wayBack(location.search);
  const done = () => {
    refresh();
    navigate(to, "replace");
  };
  useEffect(() => {
    if (takeToken()) return done();
    if (location.hash) {
      say("Signing in did not work. Please try again.");
      remember({}, location.pathname + location.search); // a token does not stay in the address
    }
    input.current?.focus();
  }, []);

  const submit = (event: Event) => {
    event.preventDefault();
    const value = input.current?.value.trim();
    if (!value) return;
    if (site.signIn === "name") signInAs(value);
    else signInWith(value);
    done();
  };

  if (site.signInURL) {
    return (
      <section class="form">
        <h1>Sign in</h1>
        <p>
          <a class="button" href={signInAddress(to)}>
            Go on to sign in
          </a>
        </p>
      </section>
    );
  }
  if (site.signIn === "proxy") {
    return (
      <section class="form">
        <h1>Sign in</h1>
        <p>The proxy in front of this site signs people in. Ask whoever runs it for its address.</p>
      </section>
    );
  }
  const name = site.signIn === "name";
  return (
    <form class="form" onSubmit={submit}>
      <h1>Sign in</h1>
      <p id="about">
        {name
          ? "This server is for trying: any name will do, and another window may have another one."
          : "Signing in is the matter of the application that this site belongs to. If you have a token of it, it will do here."}
      </p>
      <label for="who">{name ? "Name" : "Token"}</label>
      <input
        id="who"
        ref={input}
        required
        aria-describedby="about"
        autocomplete={name ? "username" : "off"}
        autocapitalize="none"
        spellcheck={false}
        {...(name ? { maxLength: 64 } : { type: "password" })}
      />
      <button class="button" type="submit">
        Sign in
      </button>
    </form>
  );
}
