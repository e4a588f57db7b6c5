// Times of day in UTC, as everywhere in the program.

/** `19:03:12Z`. */
export const clockText = (moment: string | number): string => `${isoOf(moment).slice(11, 19)}Z`;

/** `03-01`. */
export const dayText = (moment: string | number): string => isoOf(moment).slice(5, 10);

/** An invalid time is shown unchanged. */
const isoOf = (moment: string | number): string => {
  const ms = typeof moment === 'number' ? moment : Date.parse(moment);
  return Number.isNaN(ms) ? String(moment) : new Date(ms).toISOString();
};
