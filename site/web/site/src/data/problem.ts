import type { CombinedError } from "@urql/preact";
import { fill, texts } from "../ui/strings";

/** The server cannot verify the token yet, because it has not loaded the key: the page keeps the token. */
export const unknownKey = "TOKEN_KEY_UNKNOWN";
/** The code that the page gives to the error of an answer that rejects the credentials for any other reason. */
export const signedOut = "SIGNED_OUT";

/** Formats an error message of the server as a sentence: capital letter, full stop. */
export function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1) + (message.endsWith(".") ? "" : ".");
}

/** Says why a change was refused: in the language of the site if it has words for the code, and else in those of the server. */
export function explainRefusal({ code, field, message, until, reason }: UserError): string {
  const own: Record<string, string> = texts.refusals;
  const text = own[`${code}.${field?.[0] ?? (until && "until")}`] ?? own[code];
  // A name that is being erased is denied changes without a reason.
  if (!text || (code === "DENIED" && !reason)) return sentence(message);
  const end =
    until && new Date(until).toLocaleString(texts.locale, { dateStyle: "long", timeStyle: "short" });
  return fill(text, { reason: reason ?? "", until: end ?? "" });
}

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
