/** How many more votes put an article strictly above a score that is not below its own. */
export function votesToPass(score: number, above: number, voteScore: number): number {
  return Math.floor((above - score) / voteScore) + 1;
}
