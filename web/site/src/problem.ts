import type { CombinedError } from "@urql/preact";

/** Makes a sentence of a message, which the server writes as a part of one. */
export function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1) + (message.endsWith(".") ? "" : ".");
}

/** Says what went wrong in words for people. */
export function explainError(error: CombinedError): string {
  if (error.networkError && !error.response) return "There is no connection to the server.";
  const [first] = error.graphQLErrors;
  switch (first?.extensions.code) {
    case "UNAVAILABLE":
    case "TIMEOUT":
      return "The server cannot reach its articles right now.";
    case "RATE_LIMITED":
      return "That was a lot in a short time. Please wait a little.";
    case "TOKEN_KEY_UNKNOWN":
      return "The server cannot tell yet who you are. Please try again in some seconds.";
    case "BAD_USER_INPUT":
      return sentence(first.message);
  }
  return "Something went wrong on the server.";
}
