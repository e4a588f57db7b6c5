// Query for held mail from the flags of a command.
import {type Command, Option} from 'commander';
import {reasons} from '../../shared/reason.ts';
import {pastMoment} from '../command-line/moment.ts';
import {decimal} from '../command-line/option-values.ts';
import {quoted} from '../command-line/quoting.ts';
import type {HoldQuery} from './hold-query.ts';

export interface QueryFlags extends Omit<HoldQuery, 'least' | 'most'> {
  minScore?: number;
  maxScore?: number;
}

export const addQueryOptions = (command: Command): Command =>
  command
    .option('--domain <domain>', 'of this domain')
    .option('--sender <sender>', "from this address or domain; '<>' for bounces")
    .option('--recipient <address>', 'to this address')
    .option('--subject <text>', 'with this text in the subject')
    .option('--since <time>', 'at or after this time: 2026-03-01T00:00:00Z, or 2h and 3d before now', pastMoment)
    .option('--until <time>', 'before this time, in the same forms', pastMoment)
    .option('--min-score <score>', 'with at least this score', decimal)
    .option('--max-score <score>', 'with at most this score', decimal)
    .addOption(new Option('--reason <reason>', 'held for this reason').choices(reasons))
    .option('--node <node>', 'held by this node');

export const queryOf = ({minScore, maxScore, ...query}: QueryFlags): HoldQuery => ({
  ...query,
  ...(minScore !== undefined && {least: {score: minScore, isIncluded: true}}),
  ...(maxScore !== undefined && {most: {score: maxScore, isIncluded: true}}),
});

/** The flags as typed: `--domain example.com --min-score 10`. */
export const flagsText = (flags: QueryFlags): string => {
  const words = Object.entries(flags).flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`,
    quoted(String(value)),
  ]);
  return words.join(' ');
};
