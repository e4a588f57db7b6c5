/**
 * Waits at least `ms` in small steps, and serves pending events between them. After one long timer on a machine that stood still,
 * the test would continue before the events that arrived meanwhile had been handled.
 */
export const pause = async (ms: number): Promise<void> => {
  for (let left = ms; left > 0; left -= 10) await new Promise(resolve => setTimeout(resolve, 10));
};
