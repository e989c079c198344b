import type { CombinedError } from "@urql/preact";

/** Formats an error message of the server as a sentence: capital letter, full stop. */
export function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1) + (message.endsWith(".") ? "" : ".");
}

/** Explains an error to the visitor. */
export function explainError(error: CombinedError): string {
  if (error.networkError && !error.response) return "The server cannot be reached.";
  const [first] = error.graphQLErrors;
  if (error.response?.status === 401 && first?.extensions.code !== "TOKEN_KEY_UNKNOWN")
    return "You have been signed out. Please sign in again.";
  switch (first?.extensions.code) {
    case "UNAVAILABLE":
    case "TIMEOUT":
      return "The articles are temporarily unavailable.";
    case "RATE_LIMITED":
      return "Too many requests. Please wait a moment.";
    case "TOKEN_KEY_UNKNOWN":
      return "The server cannot verify your sign-in yet. Please try again in a few seconds.";
    case "BAD_USER_INPUT":
      return sentence(first.message);
  }
  return "Something went wrong on the server.";
}
