/** Settings of the site, which the server writes into a meta element of the page. */
export interface Site {
  /** How visitors sign in: with any name, with a token, or through a proxy. */
  signIn: "name" | "token" | "proxy";
  /**
   * URL of an external sign-in page, where `{return}` stands for the return URL; empty if there is no such
   * page.
   */
  signInURL: string;
  /** Whether GraphiQL is served. */
  explorer: boolean;
  /** Whether downvotes are allowed. */
  downvotes: boolean;
  /** Seconds that a vote adds to the score. */
  voteScore: number;
}

const defaults: Site = { signIn: "name", signInURL: "", explorer: true, downvotes: true, voteScore: 432 };

export const site: Site = { ...defaults, ...JSON.parse(meta() || "{}") };

function meta(): string | undefined {
  return document.querySelector<HTMLMetaElement>('meta[name="frontpage"]')?.content;
}
