import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  onUserChange,
  readSession,
  rememberMethod,
  returnPath,
  type Site,
  signInAddress,
  signInAs,
  signInWith,
  signOut,
  takeToken,
} from "./session";

const site: Site = {
  signIn: "NAME",
  signInURL: null,
  explorer: true,
  rules: { voteScore: 432, downvotes: true, ranking: "LINEAR", rankCap: 86_400, halfLife: 13_560 },
};
const defaults = { ...site };
const anonymous = { credentials: {} };

beforeEach(() => {
  sessionStorage.clear();
  localStorage.clear();
  history.replaceState(null, "", "/");
});
afterEach(() => {
  Object.assign(site, defaults);
});

describe("a name", () => {
  const alice = { credentials: { "X-User-ID": "alice" } };
  const bob = { credentials: { "X-User-ID": "bob" } };

  test("belongs to its window, and a new window starts with the latest one", () => {
    expect(readSession()).toEqual(anonymous);
    signInAs("alice");
    expect(readSession()).toEqual(alice);

    sessionStorage.clear(); // another window
    expect(readSession()).toEqual(alice);
    sessionStorage.clear();
    signInAs("bob");
    sessionStorage.setItem("frontpage.name", "alice"); // the first window again
    expect(readSession()).toEqual(alice);
    sessionStorage.clear();
    expect(readSession()).toEqual(bob);
  });

  test("stays the same in a window that has used it", () => {
    signInAs("alice");
    sessionStorage.clear();
    readSession();
    localStorage.setItem("frontpage.name", "bob");
    expect(readSession()).toEqual(alice);
  });

  test("is removed by signing out, even if another window signs in", () => {
    signInAs("alice");
    signOut();
    expect(readSession()).toEqual(anonymous);
    localStorage.setItem("frontpage.name", "bob");
    expect(readSession()).toEqual(anonymous);
    sessionStorage.clear();
    expect(readSession()).toEqual(bob);
  });

  test("is not sent to a server that requires tokens, nor a token to one that requires names", () => {
    signInAs("alice");
    rememberMethod({ ...site, signIn: "TOKEN" });
    expect(readSession()).toEqual(anonymous);
    signOut();
    signInWith("abc");
    rememberMethod(site);
    expect(readSession()).toEqual(anonymous);
    rememberMethod({ ...site, signIn: "PROXY" });
    expect(readSession()).toEqual(anonymous);
  });
});

describe("a token", () => {
  beforeEach(() => {
    site.signIn = "TOKEN";
  });

  test.each(["abc", " abc\n", "Bearer abc", "bearer  abc "])("%j signs in, in all windows", (text) => {
    signInWith(text);
    const session = { credentials: { Authorization: "Bearer abc" } };
    expect(readSession()).toEqual(session);
    sessionStorage.clear();
    expect(readSession()).toEqual(session);
    signOut();
    expect(readSession()).toEqual(anonymous);
  });

  test("changed by another window, or while the page was left, is reported, and other changes are not", () => {
    let changes = 0;
    const stop = onUserChange(() => changes++);
    const change = (key: string | null) => dispatchEvent(new StorageEvent("storage", { key }));
    change("frontpage.token");
    expect(changes).toBe(1);
    change(null); // storage cleared
    expect(changes).toBe(2);
    change("frontpage.name");
    expect(changes).toBe(2);
    const show = (persisted: boolean) => dispatchEvent(Object.assign(new Event("pageshow"), { persisted }));
    show(false);
    expect(changes).toBe(2);
    show(true); // from the back/forward cache
    expect(changes).toBe(3);
    change("frontpage.viewer");
    expect(changes).toBe(4);
    stop();
    show(true);
    change("frontpage.token");
    expect(changes).toBe(4);
  });

  const startSignIn = () => {
    site.signInURL = "https://id.example/?back={return}";
    const back = new URL(signInAddress(site, "/submit")).searchParams.get("back") as string;
    return new URL(back);
  };

  test("is accepted once from the external sign-in page", () => {
    const back = startSignIn();
    expect(back.origin).toBe(location.origin);
    expect(back.pathname).toBe("/signin");
    expect(returnPath(back.search)).toBe("/submit");
    history.replaceState(null, "", `${back.pathname}${back.search}#token=abc.d-e_f`);
    expect(takeToken(site)).toBe(true);
    expect(readSession().credentials.Authorization).toBe("Bearer abc.d-e_f");
    history.replaceState(null, "", `${back.pathname}${back.search}#token=other`);
    expect(takeToken(site)).toBe(false);
    expect(readSession().credentials.Authorization).toBe("Bearer abc.d-e_f");
  });

  test("is accepted if the window started the sign-in twice", () => {
    const first = startSignIn();
    expect(startSignIn().href).toBe(first.href);
    history.replaceState(null, "", `/signin${first.search}#token=abc`);
    expect(takeToken(site)).toBe(true);
  });

  test("needs a state that another window cannot guess", () => {
    const { searchParams } = startSignIn();
    sessionStorage.clear();
    const state = startSignIn().searchParams.get("state") as string;
    expect(state).not.toBe(searchParams.get("state"));
    expect(state.length).toBeGreaterThan(20);
  });

  test.each([
    ["a wrong state", "/signin?state=wrong#token=abc", true],
    ["an empty state", "/signin?state=#token=abc", true],
    ["no state", "/signin#token=abc", true],
    ["no state and no sign-in started", "/signin#token=abc", false],
    ["a state and no sign-in started", "/signin?state=1234#token=abc", false],
    ["an empty state and no sign-in started", "/signin?state=#token=abc", false],
    ["no token", "/signin?state={state}", true],
    ["an empty token", "/signin?state={state}#token=", true],
    ["a token in the query string, which servers log", "/signin?state={state}&token=abc", true],
  ])("is rejected with %s", (_, address, started) => {
    const state = started ? (startSignIn().searchParams.get("state") as string) : "";
    history.replaceState(null, "", address.replace("{state}", state));
    expect(takeToken(site)).toBe(false);
    expect(readSession()).toEqual(anonymous);
  });

  test.each(["NAME", "PROXY"] as const)("is rejected when the sign-in method is %s", (signIn) => {
    const { search } = startSignIn();
    site.signIn = signIn;
    history.replaceState(null, "", `/signin${search}#token=abc`);
    expect(takeToken(site)).toBe(false);
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
])("a sign-in proxy returns to the current page: %s", (signInURL, address) => {
  Object.assign(site, { signIn: "PROXY", signInURL });
  expect(signInAddress(site, "/g/go?x=$26")).toBe(address);
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
])("the return path is on this site: %s", (search, path) => {
  expect(returnPath(search)).toBe(path);
});
