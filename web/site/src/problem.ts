import type { CombinedError } from "@urql/preact";

/** The server cannot verify the token yet, because it has not loaded the key: the page keeps the token. */
export const unknownKey = "TOKEN_KEY_UNKNOWN";
/** The code that the page gives to the error of an answer that rejects the credentials for any other reason. */
export const signedOut = "SIGNED_OUT";

/** Formats an error message of the server as a sentence: capital letter, full stop. */
export function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1) + (message.endsWith(".") ? "" : ".");
}

/** Explains an error to the visitor. */
export function explainError(error: CombinedError): string {
  if (error.networkError) return "The server cannot be reached.";
  const [first] = error.graphQLErrors;
  switch (first?.extensions.code) {
    case signedOut:
      return "You have been signed out. Please sign in again.";
    case "UNAVAILABLE":
    case "TIMEOUT":
      return "The articles are temporarily unavailable.";
    case "RATE_LIMITED":
      return "Too many requests. Please wait a moment.";
    case unknownKey:
      return "The server cannot verify your sign-in yet. Please try again in a few seconds.";
    case "BAD_USER_INPUT":
      return sentence(first.message);
  }
  return "Something went wrong on the server.";
}
