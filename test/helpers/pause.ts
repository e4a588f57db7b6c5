/**
 * At least `ms` go by, in small steps, and whatever has come is served between them. After one long timer a machine that
 * stood still would go on with the test before it had read what came meanwhile.
 */
export const pause = async (ms: number): Promise<void> => {
  for (let left = ms; left > 0; left -= 10) await new Promise(resolve => setTimeout(resolve, 10));
};
