// Limits for the difference between the clocks of two nodes.

/**
 * Seconds from which the difference is a warning. Clocks under NTP differ by milliseconds, and the measurement is wrong by 3 s at
 * most, the deadline of a heartbeat: half a minute is a real fault, and early enough for an operator to act.
 */
export const clockWarningSeconds = 30;

/** In seconds. Changes dated further ahead do not move the clock of another node, and those an hour further are refused. */
export const clockBelievedSeconds = 24 * 3600;
