import type { CombinedError } from "@urql/preact";
import { fill, texts } from "../ui/strings";
import { clock } from "../ui/time";

/** The server cannot verify the token yet, because it has not loaded the key: the page keeps the token. */
export const unknownKey = "TOKEN_KEY_UNKNOWN";
/** The code that the page gives to the error of an answer that rejects the credentials for any other reason. */
export const signedOut = "SIGNED_OUT";

/** Formats an error message of the server as a sentence: capital letter, full stop. */
export function sentence(message: string): string {
  return `${message[0]?.toUpperCase()}${message.slice(1).replace(/\.?$/, ".")}`;
}

/** Says why a change was refused: in the language of the site if it has words for the code, and else in those of the server. */
export function explainRefusal(error: UserError): string {
  const own: Texts = texts.refusals;
  const { code, field, until } = error;
  const text = own[`${code}.${field?.[0] ?? (until && "until")}`] ?? own[code];
  return text
    ? fill(text, { ...error, until: clock(Date.parse(until as string), 0) } as unknown as Texts)
    : sentence(error.message);
}

type Texts = Record<string, string>;

export interface UserError {
  code: string;
  message: string;
  field?: string[] | null;
  /** Until when the viewer may not do it, and why. */
  until?: string | null;
  reason?: string | null;
}

/** Explains an error to the visitor. */
export function explainError(error: CombinedError): string {
  if (error.networkError) return texts.unreachable;
  const [first] = error.graphQLErrors;
  switch (first?.extensions.code) {
    case signedOut:
      return texts.signedOut;
    case "UNAVAILABLE":
    case "TIMEOUT":
      return texts.unavailable;
    case "RATE_LIMITED":
      return texts.tooMany;
    case "SEARCH_NOT_READY":
      return texts.searchNotReady;
    case unknownKey:
      return texts.unknownKey;
    case "BAD_USER_INPUT":
      return sentence(first.message);
  }
  return texts.wentWrong;
}
