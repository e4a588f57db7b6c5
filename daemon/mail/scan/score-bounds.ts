/** A score beyond this is a bug or an attack, and exceeds every allowed threshold. */
const maxScore = 10_000;

/** Limits a score to ±10,000. The score may be infinite, but not NaN. */
export const boundScore = (score: number): number => Math.min(maxScore, Math.max(-maxScore, score));

/** Far more symbols than one mail can match in any filter. */
export const maxSymbols = 500;
