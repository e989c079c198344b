import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  onTokenChange,
  readSession,
  signInAddress,
  signInAs,
  signInWith,
  signOut,
  takeToken,
  wayBack,
} from "./session";
import { site } from "./site";

const defaults = { ...site };
const nobody = { credentials: {} };

beforeEach(() => {
  sessionStorage.clear();
  localStorage.clear();
  history.replaceState(null, "", "/");
});
afterEach(() => {
  Object.assign(site, defaults);
});

describe("a name", () => {
  const alice = { name: "alice", credentials: { "X-User-ID": "alice" } };
  const bob = { name: "bob", credentials: { "X-User-ID": "bob" } };

  test("is that of its window, and a new window begins as the last", () => {
    expect(readSession()).toEqual(nobody);
    signInAs("alice");
    expect(readSession()).toEqual(alice);

    sessionStorage.clear(); // as in another window
    expect(readSession()).toEqual(alice);
    sessionStorage.clear();
    signInAs("bob");
    sessionStorage.setItem("frontpage.name", "alice"); // and back in the first
    expect(readSession()).toEqual(alice);
    sessionStorage.clear();
    expect(readSession()).toEqual(bob);
  });

  test("stays with a window that has shown it", () => {
    signInAs("alice");
    sessionStorage.clear();
    readSession();
    localStorage.setItem("frontpage.name", "bob");
    expect(readSession()).toEqual(alice);
  });

  test("is gone after signing out, also when another window signs in", () => {
    signInAs("alice");
    signOut();
    expect(readSession()).toEqual(nobody);
    localStorage.setItem("frontpage.name", "bob");
    expect(readSession()).toEqual(nobody);
    sessionStorage.clear();
    expect(readSession()).toEqual(bob);
  });

  test("is not sent to a server that wants tokens, nor a token to one that wants names", () => {
    signInAs("alice");
    site.signIn = "token";
    expect(readSession()).toEqual(nobody);
    signOut();
    signInWith("abc");
    site.signIn = "name";
    expect(readSession()).toEqual(nobody);
    site.signIn = "proxy";
    expect(readSession()).toEqual(nobody);
  });
});

describe("a token", () => {
  beforeEach(() => {
    site.signIn = "token";
  });

  test.each(["abc", " abc\n", "Bearer abc", "bearer  abc "])("%j signs in, in all windows", (text) => {
    signInWith(text);
    const session = { credentials: { Authorization: "Bearer abc" } };
    expect(readSession()).toEqual(session);
    sessionStorage.clear();
    expect(readSession()).toEqual(session);
    signOut();
    expect(readSession()).toEqual(nobody);
  });

  test("that another window changes is told of, and nothing else", () => {
    let told = 0;
    const stop = onTokenChange(() => told++);
    const change = (key: string | null) => dispatchEvent(new StorageEvent("storage", { key }));
    change("frontpage.token");
    expect(told).toBe(1);
    change(null); // all was cleared
    expect(told).toBe(2);
    change("frontpage.name");
    expect(told).toBe(2);
    stop();
    change("frontpage.token");
    expect(told).toBe(2);
  });

  const asked = () => {
    site.signInURL = "https://id.example/?back={return}";
    const back = new URL(signInAddress("/submit")).searchParams.get("back") as string;
    return new URL(back);
  };

  test("comes back from signing in elsewhere, once", () => {
    const back = asked();
    expect(back.origin).toBe(location.origin);
    expect(back.pathname).toBe("/signin");
    expect(wayBack(back.search)).toBe("/submit");
    history.replaceState(null, "", `${back.pathname}${back.search}#token=abc.d-e_f`);
    expect(takeToken()).toBe(true);
    expect(readSession().credentials.Authorization).toBe("Bearer abc.d-e_f");
    history.replaceState(null, "", `${back.pathname}${back.search}#token=other`);
    expect(takeToken()).toBe(false);
    expect(readSession().credentials.Authorization).toBe("Bearer abc.d-e_f");
  });

  test("comes back also when the window asked twice", () => {
    const first = asked();
    expect(asked().href).toBe(first.href);
    history.replaceState(null, "", `/signin${first.search}#token=abc`);
    expect(takeToken()).toBe(true);
  });

  test("of another window's asking cannot be guessed", () => {
    const { searchParams } = asked();
    sessionStorage.clear();
    const state = asked().searchParams.get("state") as string;
    expect(state).not.toBe(searchParams.get("state"));
    expect(state.length).toBeGreaterThan(20);
  });

  test.each([
    ["a wrong state", "/signin?state=wrong#token=abc", true],
    ["an empty state", "/signin?state=#token=abc", true],
    ["no state", "/signin#token=abc", true],
    ["no state when nobody asked", "/signin#token=abc", false],
    ["a state that nobody asked with", "/signin?state=1234#token=abc", false],
    ["an empty state that nobody asked with", "/signin?state=#token=abc", false],
    ["no token", "/signin?state={state}", true],
    ["an empty token", "/signin?state={state}#token=", true],
    ["a token in the search, which servers log", "/signin?state={state}&token=abc", true],
  ])("is not taken with %s", (_, address, hasAsked) => {
    const state = hasAsked ? (asked().searchParams.get("state") as string) : "";
    history.replaceState(null, "", address.replace("{state}", state));
    expect(takeToken()).toBe(false);
    expect(readSession()).toEqual(nobody);
  });

  test.each(["name", "proxy"] as const)("is not taken when people sign in by %s", (signIn) => {
    const { search } = asked();
    site.signIn = signIn;
    history.replaceState(null, "", `/signin${search}#token=abc`);
    expect(takeToken()).toBe(false);
    expect(localStorage.length).toBe(0);
  });
});

test.each([
  [
    "https://id.example/?back={return}",
    "https://id.example/?back=http%3A%2F%2Flocalhost%3A3000%2Fg%2Fgo%3Fx%3D%2426",
  ],
  [
    "/sso/{return}?again={return}",
    "/sso/http%3A%2F%2Flocalhost%3A3000%2Fg%2Fgo%3Fx%3D%2426?again=http%3A%2F%2Flocalhost%3A3000%2Fg%2Fgo%3Fx%3D%2426",
  ],
])("a proxy sends back to where one was: %s", (signInURL, address) => {
  Object.assign(site, { signIn: "proxy", signInURL });
  expect(signInAddress("/g/go?x=$26")).toBe(address);
});

test.each([
  ["", "/"],
  ["?to=", "/"],
  ["?to=%2F", "/"],
  ["?to=/submit", "/submit"],
  ["?to=/g/go/new?after=x%26y", "/g/go/new?after=x&y"],
  ["?to=/u/a%252Fb", "/u/a%2Fb"],
  ["?to=/a/1&to=//evil.example", "/a/1"],
  ["?to=http://localhost:3000/a/1%23x", "/a/1"],
  ["?to=submit", "/submit"],
  ["?to=//evil.example", "/"],
  ["?to=///evil.example", "/"],
  ["?to=/\\evil.example", "/"],
  ["?to=\\\\evil.example", "/"],
  ["?to=%09//evil.example", "/"],
  ["?to=/%09/evil.example", "/"],
  ["?to=%20//evil.example", "/"],
  ["?to=https://evil.example", "/"],
  ["?to=https:evil.example", "/"],
  ["?to=https://localhost:3000/", "/"],
  ["?to=http://localhost:3000@evil.example/", "/"],
  ["?to=http://localhost:3000.evil.example/", "/"],
  ["?to=http://", "/"],
  ["?to=javascript:alert(1)", "/"],
  ["?to=%01javascript:alert(1)", "/"],
  ["?to=data:text/html,x", "/"],
  ["?to=blob:http://localhost:3000/x", "/"],
  ["?to=/.//evil.example", "/"],
  ["?to=/x/..//evil.example", "/"],
  ["?to=http://localhost:3000//evil.example", "/"],
  ["?to=/./\\evil.example", "/"],
  ["?to=/signin", "/"],
  ["?to=/signin?to=/signin", "/"],
  ["?to=/x/../signin", "/"],
])("the way back is a path of this site: %s", (search, path) => {
  expect(wayBack(search)).toBe(path);
});
