import {z} from 'zod';
import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Score} from '../../services/intake/mail.ts';
import {reasonOf} from './reason.ts';
import {boundScore, maxSymbols} from './score-bounds.ts';

const scored = z.object({score: z.number()});

/** Only the required fields, so that later versions of Rspamd may change all others. */
const answerSchema = z.object({
  score: z.number(),
  action: z.string().catch(''),
  required_score: z.number().optional().catch(undefined),
  symbols: z.record(z.string(), scored.catch({score: 0})).default({}),
  groups: z.record(z.string(), scored).catch({}).default({}),
});

type RspamdAnswer = z.infer<typeof answerSchema>;

/** Reads the score from Rspamd's answer to /checkv2. Throws for an invalid answer. */
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
    // From greylisting, rate limits, or scanners that are down. Most rules may not have run, so the score means little.
    ...(answer.action === 'soft reject' && {wantsRetry: true}),
  };
};

/**
 * Each domain has its own thresholds, so an action of Rspamd counts only if the score does not imply it. A rule that demands
 * `reject`, such as one of an antivirus module, does not change the score. The score is then the one that `reject` requires, as
 * Rspamd itself does for the test string.
 */
const scoreIn = ({score, action, required_score: required}: RspamdAnswer): number =>
  action === 'reject' && required !== undefined ? Math.max(score, required) : score;
