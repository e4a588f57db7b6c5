// Parsers of option values.
import {type Command, InvalidArgumentError, Option} from 'commander';

export const wholeNumber = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Must be a whole number.');
  return Number(text);
};

export const countOfAtLeastOne = (text: string): number => {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('Must be at least 1.');
  return number;
};

/** Of the API. */
export const usualLimit = 100;
const limitText = `maximum number of entries, up to 1000 (default: ${usualLimit})`;

/** Of one page of a list. */
export const pageLimit = (text: string): number => limitOf(text, '--offset has the rest, and --all everything');

const limitOf = (text: string, others: string): number => {
  const limit = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 1000) throw new InvalidArgumentError(`Must be 1 to 1000; ${others}.`);
  return limit;
};

/** For lists that the API returns in pages. */
export interface PageFlags {
  limit?: number;
  offset?: number;
  all?: boolean;
}

export const addPageOptions = (command: Command): Command =>
  command
    .option('--limit <number>', limitText, pageLimit)
    .option('--offset <number>', 'skip this many entries at the beginning', wholeNumber)
    .addOption(new Option('--all', 'print the whole list').conflicts(['limit', 'offset']));

/** For a list whose pages follow a cursor. */
export const addCursorPageOptions = (command: Command): Command =>
  command
    .option('--limit <number>', limitText, text => limitOf(text, '--all prints everything'))
    .addOption(new Option('--all', 'print the whole list').conflicts('limit'));

/** For a list that has one page. */
export const addLimitOption = (command: Command): Command =>
  command.option('--limit <number>', limitText, text => limitOf(text, 'older entries are not listed'));

/** For lists that the API returns whole: `--all` is accepted on every list, and changes nothing here. */
export const addWholeOption = (command: Command): Command =>
  command.addOption(new Option('--all', 'print the whole list, which is the default').hideHelp());

export const decimal = (text: string): number => {
  if (!/^[+-]?\d{1,9}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError('Must be a number such as 6.5.');
  return Number(text);
};

/** For an option that may be given several times. */
export const collected = (text: string, sofar: readonly string[] = []): string[] => [...sofar, text];
