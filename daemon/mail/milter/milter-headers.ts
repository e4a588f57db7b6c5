// Header changes that the milter requests for mail that passes.
import {createHeaderReader} from '../../services/intake/header-block.ts';
import type {HeaderField, Judgement} from '../../services/intake/mail.ts';
import {foldWords} from '../fold-words.ts';
import type {MilterReply} from './milter-codec.ts';

const scoreField = 'X-Spam-Score';
const symbolsField = 'X-Spam-Symbols';

/** Removes fields that only this node may set, such as a score. */
export const removeClaims = (headers: readonly HeaderField[]): MilterReply[] =>
  [scoreField, symbolsField].flatMap(name => {
    const count = headers.filter(field => field.name.toLowerCase() === name.toLowerCase()).length;
    // From the last to the first, as Postfix renumbers the fields after each removal.
    return Array.from({length: count}, (_, n) => ({kind: 'change-header' as const, index: count - n, name, value: ''}));
  });

/** `X-Spam-Score: 8.50` and the names of the matching rules, strongest first, as many as fit. */
export const addScore = ({score, symbols}: Judgement): MilterReply[] => {
  const names = symbols
    .toSorted((one, other) => other.score - one.score)
    .map(({name}) => name.replace(/[^A-Za-z0-9_.-]/g, '?').slice(0, maxNameChars))
    .slice(0, maxSymbols);
  return [
    {kind: 'add-header', name: scoreField, value: twoDigits(score)},
    ...(names.length > 0 ? [{kind: 'add-header' as const, name: symbolsField, value: foldList(names)}] : []),
  ];
};

/** A score that rounds to zero has no sign. */
const twoDigits = (score: number): string => (Math.round(score * 100) / 100 || 0).toFixed(2);

const maxNameChars = 60;
const maxSymbols = 100;

/** The value of the field, which is folded with its name. The first of the names always fits beside it. */
const foldList = (names: readonly string[]): string => {
  const label = `${symbolsField}:`;
  return foldWords([label, ...names.join(', ').split(' ')]).slice(`${label} `.length);
};

/** Inserts header fields, each with its line end, before all others. */
export const insertInFront = (fields: Buffer): MilterReply[] => {
  const reader = createHeaderReader();
  reader.push(fields);
  return reader
    .fields()
    .map(({name, value}) => ({kind: 'insert-header' as const, index: 0, name, value: value.trim()}))
    .toReversed();
};
