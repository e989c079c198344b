import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Article {
  id: string;
  number: number;
  title: string;
  link: string | null;
  createdAt: string;
  score: number;
  votes: number;
  upvotes: number;
  downvotes: number;
  isInteresting: boolean;
  viewerVote: "UP" | "DOWN" | "NONE" | null;
  poster: { name: string };
}

const fields =
  "id number title link createdAt score votes upvotes downvotes isInteresting viewerVote poster { name }";

interface Post {
  title: string;
  link?: string;
  text?: string;
  groups?: string[];
}

/** A server with its own store, and API calls that act as other users. */
export class Server {
  url = "";
  log = "";
  private readonly folder = mkdtempSync(join(tmpdir(), "frontpage-e2e-"));
  private readonly settings: Record<string, string>;
  private readonly demo: boolean;
  private process?: ChildProcess;

  constructor(settings: Record<string, string>, demo: boolean) {
    this.settings = settings;
    this.demo = demo;
  }

  /** Starts the server, optionally with other settings. A restart keeps the address. */
  async start(settings: Record<string, string> = {}): Promise<void> {
    const server = spawn(binary(), this.demo ? ["--demo-articles"] : [], {
      env: this.env(settings),
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.process = server;
    const lines = createInterface({ input: server.stderr });
    const ended = once(server, "exit");
    const url = new Promise<string>((resolve) => {
      lines.on("line", (line) => {
        this.log += `${line}\n`;
        const endpoint = /endpoint=(\S+)\/query/.exec(line)?.[1];
        if (endpoint) resolve(endpoint);
      });
    });
    await Promise.race([
      url,
      ended.then(() => Promise.reject(new Error(`the server did not start:\n${this.log}`))),
    ]);
    this.url = await url;
  }

  async stop(): Promise<void> {
    const server = this.process;
    this.process = undefined;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** Imports articles. Call it before start. */
  import(csv: string): void {
    const file = join(this.folder, "articles.csv");
    writeFileSync(file, csv);
    execFileSync(binary(), ["import", "--shift-to-now", file], { env: this.env(), stdio: "pipe" });
  }

  private env(settings: Record<string, string> = {}): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      REDIS_URL: `spawn://${this.folder}/data`,
      FRONTPAGE_REDIS_TIMEOUT: "2s", // on a busy machine a reply may take longer than the default
      FRONTPAGE_ADDR: this.url ? new URL(this.url).host : "127.0.0.1:0",
      ...this.settings,
      ...settings,
    };
  }

  /** Executes an operation, as a user or anonymously. */
  async execute<Data>(query: string, variables: object = {}, viewer = ""): Promise<Data> {
    const response = await fetch(`${this.url}/query`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(viewer && { "X-User-ID": bytes(viewer) }) },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data: Data; errors?: unknown };
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  }

  async post(input: Post, by = "ben"): Promise<Article> {
    const { post } = await this.execute<{ post: { article: Article | null; userErrors: object[] } }>(
      `mutation ($input: PostInput!) { post(input: $input) { article { ${fields} } userErrors { message } } }`,
      { input: { text: "Some words.", ...input } },
      by,
    );
    if (!post.article) throw new Error(JSON.stringify(post.userErrors));
    return post.article;
  }

  async vote({ id }: { id: string }, direction: "UP" | "DOWN" | "NONE", by: string): Promise<void> {
    const { vote } = await this.execute<{ vote: { userErrors: object[] } }>(
      "mutation ($input: VoteInput!) { vote(input: $input) { userErrors { message } } }",
      { input: { article: id, direction } },
      by,
    );
    if (vote.userErrors.length > 0) throw new Error(JSON.stringify(vote.userErrors));
  }

  async article({ id }: { id: string }, viewer = ""): Promise<Article> {
    const { article } = await this.execute<{ article: Article }>(
      `query ($id: ID!) { article(id: $id) { ${fields} } }`,
      { id },
      viewer,
    );
    return article;
  }

  /** Returns all articles, or those of a group. */
  async articles(order: "SCORE" | "TIME" = "SCORE", group?: string): Promise<Article[]> {
    const all: Article[] = [];
    const part = `articlesConnection(order: $order, first: 100, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } }`;
    for (let after: string | null = null; ; ) {
      const data: { group?: Connection } & Connection = await this.execute(
        group
          ? `query ($order: ArticleOrder!, $after: String, $group: String!) { group(name: $group) { ${part} } }`
          : `query ($order: ArticleOrder!, $after: String) { ${part} }`,
        { order, after, group },
      );
      const { nodes, pageInfo } = (data.group ?? data).articlesConnection;
      all.push(...nodes);
      if (!pageInfo.hasNextPage) return all;
      after = pageInfo.endCursor;
    }
  }
}

interface Connection {
  articlesConnection: { nodes: Article[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
}

/** Encodes a header as UTF-8: fetch takes one character per byte. */
const bytes = (text: string) => Buffer.from(text).toString("latin1");

function binary(): string {
  const { FRONTPAGE_BINARY } = process.env;
  if (!FRONTPAGE_BINARY) throw new Error("the server was not built");
  return FRONTPAGE_BINARY;
}
