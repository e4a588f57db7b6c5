// Parsers of option values. What a number means, and how large it may be, is for the node to say.
import {InvalidArgumentError} from 'commander';

export const wholeNumber = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Must be a whole number.');
  return Number(text);
};

export const decimal = (text: string): number => {
  if (!/^[+-]?\d{1,9}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError('Must be a number such as 6.5.');
  return Number(text);
};

/** For an option that may be given several times. */
export const collected = (text: string, sofar: readonly string[] = []): string[] => [...sofar, text];
