/** What the server says about the site, in a meta element of the page. */
export interface Site {
  /** How people say who they are: any name will do, a token, or a proxy does it for them. */
  signIn: "name" | "token" | "proxy";
  /** Where people sign in when the site does not do it itself, with `{return}` for the way back. */
  signInURL: string;
  /** Whether GraphiQL is served. */
  explorer: boolean;
  /** Whether there are votes down. */
  downvotes: boolean;
  /** Seconds of ranking that a vote is worth. */
  voteScore: number;
}

const defaults: Site = { signIn: "name", signInURL: "", explorer: true, downvotes: true, voteScore: 432 };

export const site: Site = { ...defaults, ...JSON.parse(meta() || "{}") };

function meta(): string | undefined {
  return document.querySelector<HTMLMetaElement>('meta[name="frontpage"]')?.content;
}
