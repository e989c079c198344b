import { expect, outage, test } from "./fixtures";
import { down, expectIds, gate, message, onOperation, rows, shown, up, votes } from "./helpers";
import type { Server } from "./server";

const voteState = async (server: Server, article: { id: string }) => {
  const { votes, viewerVote } = await server.article(article, "ada");
  return `${votes} ${viewerVote}`;
};

test("votes can be given, changed and withdrawn, in a list and on the article's page @core", async ({
  page,
  server,
}) => {
  const article = await server.post({ title: "Vote on me" });
  for (const path of ["/", `/a/${article.number}`]) {
    await page.goto(path);
    const row = shown(page, article);
    const press = async (button: typeof up, count: string, state: string) => {
      await button(row).click();
      await expect(votes(row)).toHaveText(count);
      await expect.poll(() => voteState(server, article)).toBe(state);
      await expect(up(row)).toHaveAttribute("aria-pressed", `${state.endsWith("UP")}`);
      await expect(down(row)).toHaveAttribute("aria-pressed", `${state.endsWith("DOWN")}`);
    };
    await expect(votes(row)).toHaveText("1");
    await press(up, "2", "2 UP");
    await press(up, "1", "1 NONE");
    await press(down, "0", "0 DOWN");
    await press(up, "2", "2 UP");
    await press(down, "0", "0 DOWN");
    await page.reload();
    await expect(down(row)).toHaveAttribute("aria-pressed", "true");
    await press(down, "1", "1 NONE");
  }
});

test("a negative vote count has a minus sign", async ({ page, server }) => {
  const article = await server.post({ title: "Disliked" });
  await server.vote(article, "DOWN", "cleo");
  await page.goto("/");
  await down(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("−1");
  await expect(shown(page, article).locator(".up")).toHaveAttribute("title", "1 vote up, 2 votes down");
});

test("a vote shows before the response, then the server's number @core", async ({ page, server }) => {
  const article = await server.post({ title: "Popular" });
  const { open, opened } = gate();
  await onOperation(page, "Vote", async (route) => {
    const response = await route.fetch();
    await opened;
    await route.fulfill({ response });
  });
  // Without live updates, only the response to the vote has the other votes.
  await page.routeWebSocket("**/query", () => {});
  await page.goto("/");
  await expect(votes(shown(page, article))).toHaveText("1");
  for (const name of ["cleo", "dan", "eve"]) await server.vote(article, "UP", name);

  await up(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("2");
  await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
  await expect.poll(() => voteState(server, article)).toBe("5 UP");
  await expect(votes(shown(page, article))).toHaveText("2");
  open();
  await expect(votes(shown(page, article))).toHaveText("5");
});

test("a vote and concurrent votes of other users all count", async ({ page, server, watch }) => {
  const article = await server.post({ title: "Popular" });
  const { open, opened } = gate();
  await onOperation(page, "Vote", async (route) => {
    await opened;
    await route.continue();
  });
  await page.goto("/");
  await expect(votes(shown(page, article))).toHaveText("1");
  await watch.live(page, "articleChanged");
  await up(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("2");
  await server.vote(article, "UP", "cleo");
  await server.vote(article, "UP", "dan");
  open();
  await expect(votes(shown(page, article))).toHaveText("4");
  await expect.poll(() => voteState(server, article)).toBe("4 UP");
});

test("a double click leaves no vote", async ({ page, server }) => {
  const article = await server.post({ title: "Twice" });
  await page.goto("/");
  const sent: string[] = [];
  await onOperation(page, "Vote", async (route) => {
    sent.push(route.request().postDataJSON().variables.input.direction);
    await route.continue();
  });
  for (let pair = 1; pair <= 5; pair++) {
    await up(shown(page, article)).dblclick();
    await expect.poll(() => sent.length).toBe(2 * pair);
    await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "false");
    await expect(votes(shown(page, article))).toHaveText("1");
    await expect.poll(() => voteState(server, article)).toBe("1 NONE");
  }
  expect(sent).toEqual(Array(5).fill(["UP", "NONE"]).flat());
});

test("quick votes on an article arrive in order, even if the first is slow", async ({ page, server }) => {
  const article = await server.post({ title: "In turn" });
  const { open, opened } = gate();
  let sent = 0;
  await onOperation(page, "Vote", async (route) => {
    if (++sent === 1) await opened;
    await route.continue();
  });
  await page.goto("/");
  await up(shown(page, article)).click();
  await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
  await down(shown(page, article)).click();
  await expect(votes(shown(page, article))).toHaveText("0");
  open();
  await expect.poll(() => sent).toBe(2);
  await expect.poll(() => voteState(server, article)).toBe("0 DOWN");
  await expect(votes(shown(page, article))).toHaveText("0");
  await expect(down(shown(page, article))).toHaveAttribute("aria-pressed", "true");
});

test("simultaneous votes on several articles all count", async ({ page, server }) => {
  const articles = [];
  for (const title of ["One", "Two", "Three", "Four"]) articles.push(await server.post({ title }));
  await page.goto("/");
  await expect(rows(page)).toHaveCount(4);
  await page.evaluate(() => {
    for (const button of document.querySelectorAll<HTMLElement>(".up")) button.click();
  });
  for (const article of articles) {
    await expect(votes(shown(page, article))).toHaveText("2");
    await expect.poll(() => voteState(server, article)).toBe("2 UP");
  }
});

test("a refused vote is undone, and the page says why @core", async ({ page, server, watch }) => {
  const article = await server.post({ title: "No votes down" });
  await page.goto("/");
  await expect(votes(shown(page, article))).toHaveText("1");
  watch.allowed.push(outage);
  await server.stop();
  await expect(page.getByText("No connection to the server.")).toBeVisible();
  await server.start({ FRONTPAGE_DOWNVOTES: "false" });
  await expect(page.getByText("No connection to the server.")).toHaveCount(0);
  await down(shown(page, article)).click();
  await expect(message(page)).toHaveText(/^Your vote was not counted\. .*down.*\.$/);
  await expect(votes(shown(page, article))).toHaveText("1");
  await expect(down(shown(page, article))).toHaveAttribute("aria-pressed", "false");
  await page.reload();
  await expect(up(shown(page, article))).toBeVisible();
  await expect(down(shown(page, article))).toHaveCount(0);
});

test("a vote after the voting window is undone, and the page says why", async ({ page, server }) => {
  const article = await server.post({ title: "Closing" });
  // Without live updates, the page does not see the shorter voting window of the restarted server.
  await page.routeWebSocket("**/query", () => {});
  await page.goto("/");
  await expect(votes(shown(page, article))).toHaveText("1");
  await server.stop();
  await server.start({ FRONTPAGE_VOTING_WINDOW: "1s" });
  await expect
    .poll(() => server.vote(article, "NONE", "cleo").then(String, String), "voting ends")
    .toContain("clos");
  await up(shown(page, article)).click();
  await expect(message(page)).toHaveText(/^Your vote was not counted\. .*\.$/);
  await expect(votes(shown(page, article))).toHaveText("1");
  await expect(up(shown(page, article))).toBeDisabled();
});

test("a vote whose request fails is undone, and the page says so", async ({ page, server, watch }) => {
  const article = await server.post({ title: "Lost" });
  watch.allowed.push(/ERR_FAILED/);
  await onOperation(page, "Vote", (route) => route.abort());
  await page.goto("/");
  await up(shown(page, article)).click();
  await expect(message(page)).toHaveText(
    "The server cannot be reached. Your vote may not have been counted.",
  );
  await expect(votes(shown(page, article))).toHaveText("1");
  await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "false");
  await page.unroute("**/query");
  await up(shown(page, article)).click();
  await expect.poll(() => voteState(server, article)).toBe("2 UP");
});

test.describe("an anonymous visitor", () => {
  test.use({ viewer: "" });

  test("is sent to sign in by a vote, and finds it cast on returning", async ({ page, server }) => {
    const article = await server.post({ title: "For all", groups: ["here"] });
    await page.goto("/g/here");
    await up(shown(page, article)).click();
    await expect(page).toHaveURL("/signin?to=%2Fg%2Fhere");
    await expect(page.getByLabel("Name")).toBeFocused();
    await page.keyboard.type("ada");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL("/g/here");
    await expect(page.getByRole("banner").getByRole("link", { name: "ada" })).toBeVisible();
    await expectIds(page, [article]);
    await expect(votes(shown(page, article))).toHaveText("2");
    await expect(up(shown(page, article))).toHaveAttribute("aria-pressed", "true");
    await expect.poll(() => voteState(server, article)).toBe("2 UP");
    await up(shown(page, article)).click();
    await expect(votes(shown(page, article))).toHaveText("1");
    await expect.poll(() => voteState(server, article)).toBe("1 NONE");
  });
});
