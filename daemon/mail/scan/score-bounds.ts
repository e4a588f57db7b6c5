/** Scores beyond this are a bug or an attack, and would not fit the thresholds of a domain either. */
const maxScore = 10_000;

/** Within ±10,000; for a finite or infinite number, not NaN. */
export const boundScore = (score: number): number => Math.min(maxScore, Math.max(-maxScore, score));

/** Far more than any filter has rules that one mail can match. */
export const maxSymbols = 500;
