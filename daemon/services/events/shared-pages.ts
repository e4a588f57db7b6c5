// Readings of a log that several watches share: they are woken together, and most of them are at the same place.
import {setImmediate} from 'node:timers/promises';
import type {Actor} from '../actor.ts';
import {createSemaphore} from '../semaphore.ts';
import type {MailSource, SourcePage} from './mail-source.ts';

interface Sharing {
  /** How many readings are under way at once; the others wait. */
  atOnce: number;
  /** Whether the answer may differ between keys with the same access. */
  isByKey: boolean;
}

/** A reading is shared until it begins: one that is under way may not see what its caller was woken for. */
export const sharePages = ({name, after}: MailSource, {atOnce, isByKey}: Sharing): MailSource => {
  const places = createSemaphore(atOnce);
  const waiting = new Map<string, Promise<SourcePage>>();
  const wishOf = (place: string | undefined, types: readonly string[], {keyId, scope, reach}: Actor): string =>
    JSON.stringify([place, types, scope, reach, isByKey ? keyId : null]);

  return {
    name,
    async after(place, types, actor) {
      const wish = wishOf(place, types, actor);
      const known = waiting.get(wish);
      if (known) return known;
      const reading = places.run(async () => {
        // All that were woken together have asked by then.
        await setImmediate();
        waiting.delete(wish);
        return after(place, types, actor);
      });
      waiting.set(wish, reading);
      return reading;
    },
  };
};
