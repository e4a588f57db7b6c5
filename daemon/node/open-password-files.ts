// Password files that every user of the machine can read. That is told and not refused: secrets that are mounted have such modes.
import {stat} from 'node:fs/promises';
import type {LiveSettings} from './live-settings.ts';

const otherMayRead = 0o004;

/** Their keys in the configuration, never their paths: the answer goes to other nodes and to people. */
export const openPasswordFiles = async (files: LiveSettings['passwordFiles']): Promise<string[]> => {
  const open = await Promise.all(
    files.map(async ({key, file}) => {
      const mode = await stat(file).then(
        found => found.mode,
        () => 0,
      );
      return (mode & otherMayRead) === 0 ? [] : [key];
    }),
  );
  return open.flat();
};
