// How far the clocks of two nodes may be apart.

/**
 * From here on somebody should look, in seconds. Clocks that are kept (NTP) differ by milliseconds, and the measurement is wrong by 3 s at
 * most, the deadline of a heartbeat: half a minute is no accident, and long before anything depends on it.
 */
export const clockWarningSeconds = 30;

/** What is dated further ahead than this moves no other node's clock, and an hour beyond this it is refused. In seconds. */
export const clockBelievedSeconds = 24 * 3600;
