// The commands there are, as the help shows them.
import {type FakeTerminalOptions, runCli} from './fake-terminal.ts';

export const helpOf = async (words: readonly string[], options: FakeTerminalOptions = {}): Promise<string> =>
  (await runCli([...words, '--help'], {...options, env: {XDG_CONFIG_HOME: '/nonexistent', ...options.env}})).stdout;

/** The groups too, the program itself first. */
export const allHelps = async (words: readonly string[] = []): Promise<string[][]> => {
  const names = namesIn(await helpOf(words)).filter(name => words.length === 0 || name !== 'help');
  const below = await Promise.all(names.map(name => allHelps([...words, name])));
  return [[...words], ...below.flat()];
};

/** The commands that do something. */
export const commandWords = async (): Promise<string[][]> => {
  const all = await allHelps();
  return all.filter(words => words.length > 0 && !all.some(other => other.length > words.length && startsWith(other, words)));
};

const startsWith = (words: readonly string[], start: readonly string[]): boolean => start.every((word, at) => words[at] === word);

const namesIn = (help: string): string[] => {
  const [, commands = ''] = help.split('\nCommands:\n');
  return [...(commands.split('\n\n')[0] ?? '').matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name ?? '');
};
