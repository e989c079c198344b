import { expect, test } from "./fixtures";
import { expectIds, message, onOperation } from "./helpers";

test("a link is posted to groups, and the form suggests existing groups @core", async ({ page, server }) => {
  await server.post({ title: "Older", groups: ["go", "golang", "web"] });
  await page.goto("/");
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  await expect(page).toHaveURL("/submit");
  await page.getByLabel("Title").fill("A tour of Go");
  await page.getByLabel("Link").fill("https://go.dev/tour/");
  const groups = page.getByLabel("Groups");
  await groups.fill("tours, we");
  const chips = page.getByRole("button", { name: "Add group" });
  await expect(chips).toHaveText(["web"]);
  await chips.click();
  await expect(groups).toHaveValue("tours, web ");
  await expect(chips).toHaveText(["go", "golang"]);
  await chips.first().click();
  await expect(groups).toHaveValue("tours, web go ");
  await page.getByRole("button", { name: "Post" }).click();

  await expect(page).toHaveURL("/a/2");
  await expect(message(page)).toHaveText("Your article has been posted.");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("A tour of Go");
  await expect(page.locator(".source a")).toHaveAttribute("href", "https://go.dev/tour/");
  for (const group of ["tours", "web", "go"]) {
    await expect(page.locator(`.facts a[href="/g/${group}"]`)).toHaveCount(1);
  }
  await expect(page.getByText("go.dev", { exact: true })).toBeVisible();
  expect(await server.article({ id: "article:2" }, "ada")).toMatchObject({
    poster: { name: "ada" },
    votes: 1,
    viewerVote: "UP",
  });

  await page.getByRole("link", { name: "Submit", exact: true }).click();
  for (const label of ["Title", "Link", "Text", "Groups"])
    await expect(page.getByLabel(label)).toHaveValue("");
});

test("the largest groups come first, and are found and suggested among many", async ({ page, server }) => {
  for (let i = 0; i < 12; i++) {
    await server.post({ title: `${i}`, groups: [...Array(9).keys()].map((n) => `a${i}-${n}`) });
  }
  for (const groups of [["github.com", "gitlab.com"], ["github.com"], ["github.com", "git"], ["git"]]) {
    await server.post({ title: "t", groups });
  }
  await page.goto("/groups");
  const names = page.getByRole("main").getByRole("listitem").locator("strong");
  await expect(names.first()).toHaveText("github.com");
  await expect(names).toHaveCount(100);
  const find = page.getByLabel("Find a group");
  await find.fill("Git");
  await expect(names).toHaveText(["github.com", "git", "gitlab.com"]);
  await find.fill("HUB");
  await expect(names).toHaveText(["github.com"]);
  await find.fill("gitea");
  await expect(page.getByText("No group has “gitea” in its name.")).toBeVisible();
  await find.fill("GitHub.com");
  await find.press("Enter");
  await expect(page).toHaveURL("/g/github.com");
  await page.goto("/submit");
  await page.getByLabel("Groups").fill("git");
  await expect(page.getByRole("button", { name: "Add group" })).toHaveText(["github.com", "gitlab.com"]);
});

test.describe("on a laptop, with rules", () => {
  test.use({
    viewport: { width: 1280, height: 800 },
    settings: { FRONTPAGE_SITE_RULES: "No adverts;Be kind", FRONTPAGE_MODERATORS: "ada" },
  });

  test("the rules are beside the form, and no suggested name is cut", async ({ page, server }) => {
    const groups = ["a", "b", "c", "d", "e", "f"].map((letter) => letter.repeat(22));
    await server.post({ title: "One", groups });
    await server.execute(
      'mutation { describeGroup(input: { group: "c", rules: ["Of the sea", "No tides"] }) { userErrors { message } } }',
      {},
      "ada",
    );
    await page.goto("/submit?group=c");
    await expect(page.getByText("Of the sea")).toBeVisible();
    const box = (selector: string) =>
      page.locator(selector).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    const [form] = await box("#title");
    const lists = await box(".rules");
    expect(lists).toHaveLength(2);
    for (const list of lists) expect(list.left).toBeGreaterThan(form.right);
    const [post] = await box("form > .button");
    expect(post.bottom).toBeLessThanOrEqual(800);
    const [line] = await box(".field .chips");
    const chips = await box(".field .chips button");
    expect(chips).toHaveLength(6);
    const shown = chips.filter(({ top }) => top < line.bottom);
    expect(shown.length).toBeGreaterThan(1);
    for (const { right, bottom } of shown) {
      expect(right).toBeLessThanOrEqual(line.right);
      expect(bottom).toBeLessThanOrEqual(line.bottom);
    }
    const last = page.getByRole("button", { name: `Add group ${groups[5]}` });
    await last.focus();
    await expect(last).toBeInViewport({ ratio: 1 });
  });
});

test("a link that was posted already is shown while one types", async ({ page, server }) => {
  await server.post({ title: "A tour of Go", link: "https://go.dev/tour" });
  await page.goto("/submit");
  const link = page.getByLabel("Link");
  await link.pressSequentially("http://www.go.dev:80/x/../tour/");
  const known = page.getByRole("main").getByRole("status");
  await expect(known).toContainText("This link was already posted: A tour of Go");
  await expect(known.getByRole("link")).toHaveAttribute("href", "/a/1");
  await link.press("End");
  await link.pressSequentially("more");
  await expect(known).toBeEmpty();
});

test("a text is posted with the keyboard", async ({ page }) => {
  await page.goto("/submit?group=sea");
  await expect(page.getByLabel("Groups")).toHaveValue("sea ");
  await page.getByLabel("Title").fill("Of tides");
  await page.getByLabel("Text").fill("High and low.\n\nTwice a day.");
  await page.getByLabel("Title").press("Enter");
  await expect(page).toHaveURL("/a/1");
  await expect(page.locator(".text")).toHaveText("High and low.\n\nTwice a day.");
  await expect(page.getByRole("link", { name: "Group sea" })).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL("about:blank");
});

test("an error is shown at its field, which gets the focus @core", async ({ page, server }) => {
  await page.goto("/submit");
  const post = page.getByRole("button", { name: "Post" });
  const wrong = async (label: string, error: RegExp) => {
    await post.click();
    const field = page.getByLabel(label);
    await expect(field).toHaveAttribute("aria-invalid", "true");
    await expect(field).toBeFocused();
    // What is said about the field has the same numbers.
    const id = `${label.toLowerCase()}-error`;
    await expect(page.locator(`#${id}`)).toHaveText(error);
    await expect(field).toHaveAttribute("aria-describedby", new RegExp(`${id}$`));
  };
  await page.getByLabel("Text").fill("words");
  await wrong("Title", /title/i);
  await page.getByLabel("Title").fill("x".repeat(201));
  await wrong("Title", /200/);
  await page.getByLabel("Title").fill("A title");
  for (const link of ["not a link", "ftp://example.org/", "javascript:alert(1)"]) {
    await page.getByLabel("Link").fill(link);
    await wrong("Link", /http/i);
    await expect(page.getByLabel("Title")).not.toHaveAttribute("aria-invalid");
  }
  await page.getByLabel("Link").fill("https://example.org/");
  await page.getByLabel("Text").fill("x".repeat(10_001));
  await wrong("Text", /10,?000/);
  await page.getByLabel("Text").fill("");
  await page.getByRole("button", { name: "Add a text" }).click();
  await expect(page.getByLabel("Text")).toHaveValue("");
  await page.getByLabel("Groups").fill("sea/side");
  await wrong("Groups", /group/i);
  await page.getByLabel("Groups").fill("a b c d e f g h i j k");
  await wrong("Groups", /10/);
  await page.getByLabel("Groups").fill("");
  await page.getByLabel("Link").fill("");
  await post.click();
  await expect(page.getByText(/link or a text/i)).toBeVisible();
  expect(await server.articles()).toEqual([]);
});

test("a duplicate link leads to the first article", async ({ page, server }) => {
  const first = await server.post({ title: "The first", link: "https://example.org/a" });
  await page.goto("/submit");
  await page.getByLabel("Title").fill("The second");
  await page.getByLabel("Link").fill("http://EXAMPLE.org/a/?utm_source=x");
  await page.getByRole("button", { name: "Post" }).click();
  await expect(page.getByLabel("Link")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Link")).toHaveAccessibleDescription(
    /was already posted: The first, by ben, with 1 vote\./,
  );
  await page.getByRole("link", { name: "The first" }).click();
  await expect(page).toHaveURL(`/a/${first.number}`);
  await expect(page.getByRole("heading", { name: "The first" })).toBeVisible();
});

test("a post without a response is saved, and a retry does not post twice", async ({
  page,
  server,
  watch,
}) => {
  await page.goto("/submit");
  watch.allowed.push(/ERR_FAILED/);
  await onOperation(page, "Post", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByLabel("Title").fill("Only once");
  await page.getByLabel("Text").fill("Words.");
  await page.getByRole("button", { name: "Post" }).click();
  await expect(message(page)).toContainText("Your post is saved in this window. Try again.");
  await expect(page.getByLabel("Title")).toHaveValue("Only once");
  await expect(page.getByLabel("Text")).toHaveValue("Words.");
  expect((await server.articles()).map(({ title }) => title)).toEqual(["Only once"]);

  await page.unroute("**/query");
  await page.getByRole("button", { name: "Post" }).click();
  await expect(page).toHaveURL("/a/1");
  expect((await server.articles()).map(({ title }) => title)).toEqual(["Only once"]);
  // The front page has the article as well.
  await page.getByRole("link", { name: "Frontpage" }).click();
  await expectIds(page, [{ id: "article:1" }]);
});

test("a double click posts once @core", async ({ page, server }) => {
  await page.goto("/submit");
  await page.getByLabel("Title").fill("Impatient");
  await page.getByLabel("Text").fill("Words.");
  await page.getByRole("button", { name: "Post" }).dblclick();
  await expect(page).toHaveURL("/a/1");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Impatient");
  expect(await server.articles()).toHaveLength(1);
});

test.describe("an anonymous visitor", () => {
  test.use({ viewer: "" });

  test("keeps the draft over a reload and sign-in", async ({ page, server }) => {
    await page.goto("/submit");
    await page.getByLabel("Title").fill("Written before");
    await page.getByLabel("Text").fill("Some words.");
    await page.getByLabel("Groups").fill("patience");
    await page.reload();
    await expect(page.getByLabel("Title")).toHaveValue("Written before");
    await page.getByRole("button", { name: "Post" }).click();
    await expect(page).toHaveURL("/signin?to=%2Fsubmit");
    await page.getByLabel("Name").fill("ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page).toHaveURL("/submit");
    await expect(page.getByLabel("Title")).toHaveValue("Written before");
    await expect(page.getByLabel("Text")).toHaveValue("Some words.");
    await expect(page.getByLabel("Groups")).toHaveValue("patience");
    await page.getByRole("button", { name: "Post" }).click();
    await expect(page).toHaveURL("/a/1");
    expect(await server.articles()).toMatchObject([{ title: "Written before", poster: { name: "ada" } }]);
  });
});

test("the form takes what another page or application shares, and completes a link", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/submit?link=https%3A%2F%2Fgo.dev%2Fblog&title=The%20Go%20blog&group=go");
  await expect(page.getByLabel("Link")).toHaveValue("https://go.dev/blog");
  await expect(page.getByLabel("Title")).toHaveValue("The Go blog");
  await expect(page.getByLabel("Groups")).toHaveValue("go ");
  await expect(page.getByRole("button", { name: "Post" })).toBeInViewport({ ratio: 1 });
  await page.getByLabel("Link").fill("go.dev/blog/x");
  await page.getByLabel("Title").focus();
  await expect(page.getByLabel("Link")).toHaveValue("https://go.dev/blog/x");
  const address = await page.getByRole("link", { name: "Post to Frontpage" }).getAttribute("href");
  await page.goto("/new");
  await page.evaluate((script) => Function(script)(), `${address}`.replace("javascript:", ""));
  await expect(page.getByLabel("Link")).toHaveValue(/\/new$/);
});
