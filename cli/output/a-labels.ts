import {unicodeDomain} from '../../shared/domain-name.ts';
import type {Printer} from './printer.ts';

/** Says what became of a name that was typed with other letters than those of DNS: `bücher.example`. */
export const noteALabels = (printer: Pick<Printer, 'note'>, typed: string, made: string): void => {
  const text = unicodeDomain(made);
  if (text !== undefined && typed.toLowerCase() !== made) printer.note(`${text} is ${made} in DNS, and in every list here`);
};
