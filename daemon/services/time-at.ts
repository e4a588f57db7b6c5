/** ISO 8601 of milliseconds since 1970. */
export const timeAt = (ms: number): string => new Date(ms).toISOString();
