/** The fields that are lists in pages, by the type that has them. */
export const connections: Record<string, string[]> = {
  Article: ["voters"],
  Query: [
    "articlesConnection",
    "deletedItems",
    "deniedHosts",
    "deniedUsers",
    "events",
    "flagged",
    "groups",
    "moderationActions",
    "moderationLog",
    "publicLog",
    "ranking",
    "search",
    "viewerFeed",
    "viewerReports",
    "viewerSaved",
    "viewerVotes",
  ],
  Group: ["articlesConnection", "ranking"],
  Host: ["articlesConnection"],
  User: ["articlesConnection", "votesCast"],
};

/** Returns an object with the value for each field of `connections`. */
export const forConnections = <V>(value: V): Record<string, Record<string, V>> =>
  Object.fromEntries(
    Object.entries(connections).map(([type, fields]) => [
      type,
      Object.fromEntries(fields.map((field) => [field, value])),
    ]),
  );
