import type {Owner} from './daemon.ts';

/** Owner of resources that are started outside of a test: the last one opened is closed first. */
export const startOwner = (): Owner & {end(): Promise<void>} => {
  const teardowns: (() => Promise<void> | void)[] = [];
  return {
    teardown: close => void teardowns.push(close),
    async end() {
      for (const close of teardowns.splice(0).reverse()) await close();
    },
  };
};
