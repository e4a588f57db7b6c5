import type {Owner} from './daemon.ts';

/** Whoever starts things outside of a test: what was opened last ends first. */
export const startOwner = (): Owner & {end(): Promise<void>} => {
  const teardowns: (() => Promise<void> | void)[] = [];
  return {
    teardown: close => void teardowns.push(close),
    async end() {
      for (const close of teardowns.splice(0).reverse()) await close();
    },
  };
};
