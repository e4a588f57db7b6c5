import {z} from 'zod';
import type {SymbolScore} from '../../shared/held-mail.ts';
import type {Score} from '../services/mail.ts';
import {reasonOf} from './reason.ts';
import {boundScore, maxSymbols} from './score-bounds.ts';

const scored = z.object({score: z.number()});

/** What we need of an answer, and nothing of what a later Rspamd may change. */
const answerSchema = z.object({
  score: z.number(),
  symbols: z.record(z.string(), scored.catch({score: 0})).default({}),
  groups: z.record(z.string(), scored).catch({}).default({}),
});

/** Rspamd's answer to /checkv2 as a score. Throws when it is none. */
export const scoreOfAnswer = (body: string): Score => {
  const answer = answerSchema.parse(JSON.parse(body));
  const symbols = Object.entries(answer.symbols).map(
    ([name, {score}]): SymbolScore => ({name: name.slice(0, 100), score: boundScore(score)}),
  );
  const groups = Object.fromEntries(Object.entries(answer.groups).map(([name, {score}]) => [name, score]));
  return {score: boundScore(answer.score), symbols: symbols.slice(0, maxSymbols), reason: reasonOf(symbols, groups)};
};
