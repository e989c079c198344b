import { useEffect, useRef, useState } from "preact/hooks";
import { rejection } from "../data/client";
import { usePage } from "../data/page";
import { returnPath, type Site, signInAddress, signInAs, signInWith, takeToken } from "../data/session";
import { useTitle } from "../ui/hooks";
import { navigate, remember } from "../ui/router";
import { texts } from "../ui/strings";

export function SignInPage({ site }: { site: Site }) {
  useTitle(texts.signIn);
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
      say(texts.signInFailed);
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
        <h1>{texts.signIn}</h1>
        <p>
          <a class="button" href={signInAddress(site, to)}>
            {texts.continueToSignIn}
          </a>
        </p>
      </section>
    );
  }
  if (site.signIn === "PROXY") {
    return (
      <section class="form">
        <h1>{texts.signIn}</h1>
        <p>{texts.signInByProxy}</p>
      </section>
    );
  }
  const name = site.signIn === "NAME";
  return (
    <form class="form" onSubmit={submit}>
      <h1>{texts.signIn}</h1>
      <p id="about">{name ? texts.signInByName : texts.signInByToken}</p>
      <label for="who">{name ? texts.name : texts.token}</label>
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
        {texts.signIn}
      </button>
    </form>
  );
}
