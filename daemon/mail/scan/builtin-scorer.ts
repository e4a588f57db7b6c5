// Built-in scorer, which needs no other program: recognises the test string, and trusts the filter in front of a trusted client.

import type {SymbolScore} from '../../../shared/held-mail.ts';
import type {Score} from '../../services/intake/mail.ts';
import type {Scorer} from '../../services/intake/mail-ports.ts';
import {reasonOf} from './reason.ts';
import {boundScore} from './score-bounds.ts';
import {upstreamVerdict} from './upstream-verdict.ts';

/** Between the default thresholds, 6 and 15, so that a test mail appears in the quarantine. */
const testStringScore = 10;

/**
 * Scores a mail by the test string (GTUBE) and, from a trusted client, by the upstream filter's headers. From anybody else
 * those headers are ignored, as the sender may have written them.
 */
export const createBuiltinScorer = (): Scorer => ({
  async score({client, headers, hasTestString}): Promise<Score> {
    const upstream = client.isTrusted ? upstreamVerdict(headers) : undefined;
    const own: SymbolScore[] = hasTestString ? [{name: 'GTUBE', score: testStringScore}] : [];
    const symbols = [...own, ...(upstream?.symbols ?? []).filter(({name}) => !own.some(symbol => symbol.name === name))];
    const score = (upstream?.score ?? 0) + (hasTestString ? testStringScore : 0);
    return {score: boundScore(score), symbols, reason: reasonOf(symbols)};
  },
});
