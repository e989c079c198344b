import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { button, caseOf, check, choose, flag, message, shown } from "./helpers";

const rules = ["No advertising", "Be kind to <b>others</b>"];

test.use({
  settings: {
    FRONTPAGE_MODERATORS: "mod,meg",
    FRONTPAGE_SITE_RULES: rules.join("; "),
    FRONTPAGE_SECRET: "a-secret-of-this-test-which-is-long-enough",
  },
  viewer: "mod",
});

/** Texts that a page must not take for anything but text. */
const hostile = [
  '<script>document.title="hacked"</script>',
  '<img src=x onerror="document.title=`hacked`">',
  '"><svg onload=alert(1)>',
  "javascript:alert(1)",
  "{{constructor.constructor('alert(1)')()}}",
  "\u202Etxt.exe",
  "&lt;b&gt;",
];

const dialog = (page: Page) => page.getByRole("dialog");

test("the page of reports is live, and takes its reasons from the rules @core", async ({
  page,
  server,
  another,
}) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/mod");
  await expect(page.getByRole("heading", { name: "Nothing to do." })).toBeVisible();
  // Both come at once, not after the next reading of the queue, which is 30 s away.
  await flag(server, one, "cleo");
  await expect(caseOf(page, one)).toBeVisible({ timeout: 4000 });
  await flag(server, two, "cleo");
  await expect(caseOf(page, two)).toBeVisible({ timeout: 4000 });
  await page.keyboard.press("j");
  await page.keyboard.press("d");
  await expect(caseOf(page, one)).toContainText("Removed.");
  await caseOf(page, one).getByRole("button", { name: "No advertising" }).click();
  await expect(caseOf(page, one)).toContainText("Against the rules of this site (No advertising)");
  await check(page, "reports");
  // The poster reads the rule.
  const poster = await another("ben");
  await poster.goto(`/a/${one.number}`);
  await expect(poster.getByRole("main")).toContainText("(No advertising)");
  await caseOf(page, two).locator(".title").focus();
  await page.keyboard.press("d");
  await expect(caseOf(page, two)).toContainText("Removed.");
  await page.keyboard.press("3");
  await page.keyboard.type("my words");
  await page.keyboard.press("Control+Enter");
  await expect(caseOf(page, two)).toContainText("Another reason: my words");
  // The words of before are an arrow away.
  const three = await server.post({ title: "Three" });
  await flag(server, three, "cleo");
  await expect(caseOf(page, three)).toBeVisible({ timeout: 4000 });
  await caseOf(page, three).locator(".title").focus();
  await page.keyboard.press("d");
  await expect(caseOf(page, three)).toContainText("Removed.");
  await page.keyboard.press("3");
  await page.keyboard.press("ArrowUp");
  await expect(caseOf(page, three).getByRole("textbox")).toHaveValue("my words");
  await page.keyboard.press("ArrowDown");
  await expect(caseOf(page, three).getByRole("textbox")).toHaveValue("");
});

test("without a subscription, the page of reports asks again", async ({ page, server }) => {
  await server.stop();
  await server.start({ FRONTPAGE_EVENTS_KEPT: "0" });
  await page.goto("/mod");
  await expect(page.getByRole("heading", { name: "Nothing to do." })).toBeVisible();
  const one = await server.post({ title: "One" });
  await flag(server, one, "cleo");
  await expect(caseOf(page, one)).toBeVisible({ timeout: 8000 });
});

test("removals without a reason wait for one, wherever they were done", async ({ page, server }) => {
  const [one, own] = [await server.post({ title: "One" }), await server.post({ title: "Own" })];
  const remove = "mutation ($input: DeleteArticleInput!) { deleteArticle(input: $input) { deletedId } }";
  await server.execute(remove, { input: { article: one.id } }, "meg");
  await server.execute(remove, { input: { article: own.id } }, "ben");
  await page.goto("/");
  await button(page, "Menu").click();
  await page.getByRole("link", { name: "Moderation (1)" }).click();
  await expect(caseOf(page, one)).toContainText("Removed without a reason · deleted just now by meg");
  await expect(caseOf(page, own)).toHaveCount(0);
  await page.keyboard.press("j");
  await page.keyboard.press("2");
  await expect(caseOf(page, one)).toContainText("Illegal content");
  await page.reload();
  await expect(page.getByRole("heading", { name: "Nothing to do." })).toBeVisible();
});

test("keys filter the page, change groups and deny an author", async ({ page, server, another }) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await flag(server, one, "cleo", "OTHER", "an ad");
  await flag(server, two, "cleo");
  await page.goto("/mod");
  await expect(caseOf(page, two)).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("an ad");
  await expect(caseOf(page, two)).toHaveCount(0);
  await caseOf(page, one).locator(".title").focus();
  for (const key of ["Control+g", "Alt+n"]) await page.keyboard.press(key);
  await expect(dialog(page)).toHaveCount(0);
  await page.keyboard.press("g");
  await expect(dialog(page).getByLabel("Groups")).toBeFocused();
  await dialog(page).getByLabel("Groups").fill("go, databases");
  await dialog(page).getByLabel("Ground").selectOption({ label: "Be kind to <b>others</b>" });
  await check(page, "the form for groups");
  await dialog(page).getByRole("button", { name: "Save changes" }).click();
  await expect(dialog(page)).toHaveCount(0);
  await expect
    .poll(async () => (await server.articles("SCORE", "databases")).map(({ id }) => id))
    .toEqual([one.id]);
  await expect(caseOf(page, one).locator(".title")).toBeFocused();
  await page.keyboard.press("n");
  await dialog(page).getByLabel("How long", { exact: true }).selectOption({ label: "7 days" });
  await dialog(page).getByLabel("Reason").fill("advertising again");
  await dialog(page).getByRole("button", { name: "Deny ben changes" }).click();
  await expect(dialog(page)).toContainText(/ben cannot post or vote until \d+ \w+, \d\d:\d\d\./);
  const poster = await another("ben");
  await poster.goto("/submit");
  await poster.getByLabel("Title").fill("Again");
  await poster.getByLabel("Text").fill("and again");
  await poster.getByRole("button", { name: "Post", exact: true }).click();
  await expect(poster.getByRole("main")).toContainText("advertising again");
});

test("moderators remove articles from lists, and take it back", async ({ page, server, another }) => {
  const [one, two] = [await server.post({ title: "One" }), await server.post({ title: "Two" })];
  await page.goto("/");
  await button(page, "More").last().click();
  await check(page, "the menu of an article");
  await dialog(page).getByRole("button", { name: "Remove" }).click();
  await expect(dialog(page)).toContainText("Removed.");
  await dialog(page).getByRole("button", { name: "Undo" }).click();
  await expect(dialog(page)).toHaveCount(0);
  expect((await server.article(one)).title).toBe("One");
  await choose(shown(page, two), "Remove");
  await dialog(page).getByLabel("Reason").fill("an advertisement");
  await dialog(page).getByRole("button", { name: "Say why" }).click();
  await expect(dialog(page)).toHaveCount(0);
  const poster = await another("ben");
  await poster.goto(`/a/${two.number}`);
  await expect(poster.getByRole("main")).toContainText("(No advertising): an advertisement");
  await poster.goto("/");
  await expect(shown(poster, one)).toBeVisible();
  await shown(poster, one).getByRole("button", { name: "More" }).click();
  await expect(button(poster, "Share")).toBeVisible();
  await expect(button(poster, "Remove")).toHaveCount(0);
});

test("a reporter finds the decision, and no other user finds the report", async ({
  page,
  server,
  another,
}) => {
  const one = await server.post({ title: "One" });
  const reporter = await another("cleo");
  await reporter.goto(`/a/${one.number}`);
  await choose(reporter, "Report");
  await expect(reporter.getByRole("main")).toContainText("No advertising");
  await expect(reporter.getByRole("main")).toContainText("Be kind to <b>others</b>");
  await reporter.getByLabel("In words").fill(hostile[0] ?? "");
  await button(reporter, "Report the article").click();
  await expect(message(reporter)).toContainText("Thank you.");
  await reporter.goto("/reports");
  const report = reporter.locator(`[data-report="${one.id}"]`);
  await expect(report).toContainText("Not decided yet");
  await expect(report).toContainText(hostile[0] ?? "");
  await check(reporter, "one's own reports");
  await page.goto("/mod");
  await caseOf(page, one).getByRole("button", { name: "Keep" }).click();
  await expect(caseOf(page, one)).toContainText("Kept.");
  await reporter.reload();
  await expect(report).toContainText("Nothing was done");
  const other = await another("dan");
  await other.goto("/reports");
  await expect(other.getByRole("main")).toContainText("You have not reported anything yet.");
  const visitor = await another("");
  await visitor.goto("/reports");
  await expect(visitor.getByRole("heading", { name: "Your reports" })).toBeVisible();
  await expect(visitor.getByRole("main").getByRole("link", { name: "sign in" })).toBeVisible();
  await expect(visitor.locator("[data-report]")).toHaveCount(0);
});

test("a visitor sends a notice, and finds the decision", async ({ page, server, another }) => {
  const one = await server.post({ title: "One" });
  const visitor = await another("");
  await visitor.goto("/");
  await visitor.getByRole("contentinfo").getByRole("link", { name: "Notice of illegal content" }).click();
  await expect(visitor).toHaveURL("/notice");
  await button(visitor, "Send the notice").click();
  await expect(visitor.getByLabel("Where is it?")).toBeFocused();
  await check(visitor, "the form with errors");
  await visitor.getByLabel("Where is it?").fill(`${server.url}/a/${one.number}`);
  await visitor.getByLabel("Why is it illegal?").fill(`It shows my passport. ${hostile.join(" ")}`);
  await visitor.getByLabel("Your name").fill("Erika <b>Mustermann</b>");
  await visitor.getByLabel("Your mail address").fill("erika@example.org");
  await visitor.getByLabel("I believe in good faith").check();
  await button(visitor, "Send the notice").click();
  await expect(visitor.locator(".receipt code")).toHaveCount(2);
  const [reference, secret] = await visitor.locator(".receipt code").allTextContents();
  await check(visitor, "the receipt");

  await page.goto("/mod");
  await expect(caseOf(page, one)).toContainText(
    `Notice ${reference}, Erika <b>Mustermann</b>, erika@example.org`,
  );
  await caseOf(page, one).getByRole("button", { name: "Remove" }).click();
  await expect(caseOf(page, one)).toContainText("Removed.");

  const find = async (secret: string) => {
    await visitor.goto("/notice");
    await visitor.getByLabel("Reference").fill(reference ?? "");
    await visitor.getByLabel("Secret").fill(secret);
    await button(visitor, "Show the decision").click();
  };
  await find(secret ?? "");
  await expect(visitor.locator("[data-report]")).toContainText("Something was done");
  await check(visitor, "the decision");
  await find("guessed");
  await expect(visitor.getByRole("alert").last()).toContainText("There is no notice");
  await expect(visitor.locator("[data-report]")).toHaveCount(0);
});

test("hostile notes and reasons stay text", async ({ page, server, another }) => {
  const one = await server.post({ title: "One" });
  for (const [i, note] of hostile.entries()) await flag(server, one, `user${i}`, "OTHER", note);
  await page.goto("/mod");
  for (const note of hostile) await expect(caseOf(page, one)).toContainText(note);
  await caseOf(page, one).getByRole("button", { name: "Remove" }).click();
  await expect(caseOf(page, one)).toContainText("Removed.");
  const reason = hostile.slice(0, 3).join(" ");
  await caseOf(page, one).getByRole("textbox").fill(reason);
  await caseOf(page, one).getByRole("button", { name: "No advertising" }).click();
  await expect(caseOf(page, one)).toContainText(reason);
  const poster = await another("ben");
  for (const [window, path] of [
    [page, "/mod/removed"],
    [page, "/mod/log"],
    [poster, `/a/${one.number}`],
  ] as const) {
    await window.goto(path);
    await expect(window.getByRole("main")).toContainText(reason);
    await expect(window.locator("main img, main script, main svg[onload]")).toHaveCount(0);
    expect(await window.title()).not.toContain("hacked");
  }
});

test("only moderators can ask for what the pages for moderators show", async ({ server }) => {
  for (const field of [
    "flagged { totalCount }",
    "deletedItems(missingReason: true) { totalCount }",
    "moderationLog { nodes { id } }",
  ])
    await expect(server.execute(`{ ${field} }`, {}, "ben")).rejects.toThrow(/moderators/);
});
