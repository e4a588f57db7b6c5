// Limit on what is said again and again: at once, and then once an hour.

const hourMs = 3_600_000;

/** Whether something with this name is due; it counts as said then. */
export const createHourly = (now: () => number): ((name?: string) => boolean) => {
  const saidAt = new Map<string, number>();
  return (name = '') => {
    const at = now();
    if (at - (saidAt.get(name) ?? Number.NEGATIVE_INFINITY) < hourMs) return false;
    saidAt.set(name, at);
    return true;
  };
};
