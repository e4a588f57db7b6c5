import {unicodeDomain} from '../../shared/domain-name.ts';
import type {Session} from '../session.ts';

/** Says what became of a name that was typed with other letters than those of DNS: `bücher.example`. */
export const noteALabels = (session: Session, typed: string, made: string): void => {
  const text = unicodeDomain(made);
  if (text !== undefined && typed.toLowerCase() !== made)
    session.printer().note(`${text} is ${made} in DNS, and in every list here`);
};
