import { useEffect, useRef, useState } from "preact/hooks";
import { rejection } from "./client";
import { usePage, useTitle } from "./page";
import { navigate, remember } from "./router";
import { returnPath, type Site, signInAddress, signInAs, signInWith, takeToken } from "./session";

export function SignInPage({ site }: { site: Site }) {
  useTitle("Sign in");
  const { refresh, say } = usePage();
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const to = returnPath(location.search);
  const done = () => {
    refresh();
    navigate(to, "replace");
  };
  useEffect(() => {
    if (takeToken(site)) return done();
    if (location.hash) {
      say("Sign-in failed. Please try again.");
      remember({}, location.pathname + location.search); // remove the token from the URL
    }
    input.current?.focus();
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    const value = input.current?.value.trim().replace(/^Bearer\s+/i, "");
    if (!value) return;
    if (site.signIn === "NAME") signInAs(value);
    else {
      const rejected = await rejection({ Authorization: `Bearer ${value}` });
      setProblem(rejected);
      if (rejected) return input.current?.focus();
      signInWith(value);
    }
    done();
  };

  if (site.signInURL) {
    return (
      <section class="form">
        <h1>Sign in</h1>
        <p>
          <a class="button" href={signInAddress(site, to)}>
            Continue to sign-in
          </a>
        </p>
      </section>
    );
  }
  if (site.signIn === "PROXY") {
    return (
      <section class="form">
        <h1>Sign in</h1>
        <p>This site uses a sign-in proxy. Ask the operator of the site for its address.</p>
      </section>
    );
  }
  const name = site.signIn === "NAME";
  return (
    <form class="form" onSubmit={submit}>
      <h1>Sign in</h1>
      <p id="about">
        {name
          ? "This is a development server: enter any name. Each window can use a different one."
          : "Sign-in is provided by the application that this site belongs to. If you have one of its tokens, enter it here."}
      </p>
      <label for="who">{name ? "Name" : "Token"}</label>
      <input
        id="who"
        ref={input}
        required
        aria-describedby="about problem"
        aria-invalid={problem !== undefined}
        autocomplete={name ? "username" : "off"}
        autocapitalize="none"
        spellcheck={false}
        {...(name ? { maxLength: 64 } : { type: "password" })}
      />
      <p id="problem" class="error" role="alert">
        {problem}
      </p>
      <button class="button" type="submit">
        Sign in
      </button>
    </form>
  );
}
