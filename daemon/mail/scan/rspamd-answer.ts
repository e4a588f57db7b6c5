import {z} from 'zod';
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Score} from '../../services/intake/mail.ts';
import {reasonOf} from './reason.ts';
import {boundScore, maxSymbols} from './score-bounds.ts';

const scored = z.object({score: z.number()});

/** What we need of an answer, and nothing of what a later Rspamd may change. */
const answerSchema = z.object({
  score: z.number(),
  action: z.string().catch(''),
  required_score: z.number().optional().catch(undefined),
  symbols: z.record(z.string(), scored.catch({score: 0})).default({}),
  groups: z.record(z.string(), scored).catch({}).default({}),
});

type RspamdAnswer = z.infer<typeof answerSchema>;

/** Rspamd's answer to /checkv2 as a score. Throws when it is none. */
export const scoreOfAnswer = (body: string): Score => {
  const answer = answerSchema.parse(JSON.parse(body));
  const symbols = Object.entries(answer.symbols).map(
    ([name, {score}]): SymbolScore => ({name: name.slice(0, 100), score: boundScore(score)}),
  );
  const groups = Object.fromEntries(Object.entries(answer.groups).map(([name, {score}]) => [name, score]));
  return {
    score: boundScore(scoreIn(answer)),
    symbols: symbols.slice(0, maxSymbols),
    reason: reasonOf(symbols, groups),
    // From greylisting, rate limits and scanners that are down. Most of its rules may not have been asked: the score says little.
    ...(answer.action === 'soft reject' && {wantsRetry: true}),
  };
};

/**
 * Of Rspamd's actions only those are followed that its score does not tell of, as each domain has thresholds of its own. A rule
 * that demands `reject`, such as an antivirus module's, leaves the score as it was: it then counts as what `reject` requires,
 * which is how Rspamd itself scores the test string.
 */
const scoreIn = ({score, action, required_score: required}: RspamdAnswer): number =>
  action === 'reject' && required !== undefined ? Math.max(score, required) : score;
