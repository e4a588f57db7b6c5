export type Json = null | boolean | number | string | Json[] | {[name: string]: Json};

const isObject = (value: Json | undefined): value is {[name: string]: Json} =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * JSON merge patch, RFC 7396 section 2: null removes a member, an object merges, anything else replaces.
 * Returns a new value; neither argument is changed. A member called `__proto__` is data like any other.
 */
export const mergePatch = (target: Json | undefined, patch: Json): Json => {
  if (!isObject(patch)) return patch;

  const merged = new Map<string, Json>(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
};
