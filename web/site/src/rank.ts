/** Returns the number of votes that raise a score strictly above another one, which must not be lower. */
export function votesToPass(score: number, above: number, voteScore: number): number {
  return Math.floor((above - score) / voteScore) + 1;
}
