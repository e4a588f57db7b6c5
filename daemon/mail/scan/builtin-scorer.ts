// Built-in scorer, which needs no other program: recognises the test string, and trusts the filter in front of a trusted client.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import {headerValues, unfoldHeader} from '../../services/intake/header-block.ts';
import type {HeaderField, Score, Scorer} from '../../services/intake/mail.ts';
import {boundScore, maxSymbols, reasonOf} from './reason.ts';

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

export interface Verdict {
  score: number;
  symbols: SymbolScore[];
}

/**
 * The verdict in `X-Spamd-Result` (Rspamd), else `X-Spam-Status` (SpamAssassin, Amavis), else `X-Spam-Score`. If a header occurs
 * twice, the higher score counts, so that a header from the sender can only raise the score.
 */
export const upstreamVerdict = (headers: readonly HeaderField[]): Verdict | undefined => {
  for (const [name, parse] of formats) {
    const verdicts = headerValues(headers, name).flatMap(value => parse(unfoldHeader(value)) ?? []);
    if (verdicts.length > 0) return verdicts.reduce((worst, next) => (next.score > worst.score ? next : worst));
  }
  return undefined;
};

/** `default: False [4.50 / 15.00]; R_MIXED_CHARSET(0.71)[subject]; MIME_GOOD(-0.10)[text/plain]` */
export const parseSpamdResult = (text: string): Verdict | undefined => {
  const head = /^[^[]{0,100}\[\s?([^\s/]{1,30})\s?\/\s?[^\s\]]{1,30}\s?\]/.exec(text);
  const score = numberOf(head?.[1]);
  if (!head || score === undefined) return undefined;

  const symbols: SymbolScore[] = [];
  for (const entry of text.slice(head[0].length).split(';')) {
    const match = /^\s?\s?([A-Za-z_][\w.-]{0,99})\(([^)\s]{1,30})\)/.exec(entry);
    const symbolScore = numberOf(match?.[2]);
    if (match?.[1] && symbolScore !== undefined && symbols.length < maxSymbols)
      symbols.push({name: match[1], score: symbolScore});
  }
  return {score, symbols};
};

/** `Yes, score=6.2 required=5.0 tests=BAYES_99,URIBL_BLACK autolearn=no`, tests also as `[BAYES_99=3.5, URIBL_BLACK=1.7]`. */
export const parseSpamStatus = (text: string): Verdict | undefined => {
  const score = numberOf(/\b(?:score|hits)=(\S{1,30})/.exec(text)?.[1]);
  if (score === undefined) return undefined;

  const tests = /\btests=\[?/.exec(text);
  return {score, symbols: tests ? testsIn(text.slice(tests.index + tests[0].length)) : []};
};

/** `6.2` or `6.2 (++++++)` */
export const parseSpamScore = (text: string): Verdict | undefined => {
  const score = numberOf(/^\S{1,30}/.exec(text)?.[0]);
  return score === undefined ? undefined : {score, symbols: [{name: 'UPSTREAM_SCORE', score}]};
};

const formats = [
  ['X-Spamd-Result', parseSpamdResult],
  ['X-Spam-Status', parseSpamStatus],
  ['X-Spam-Score', parseSpamScore],
] as const;

const testsIn = (text: string): SymbolScore[] => {
  const symbols: SymbolScore[] = [];
  const test = /\s?\s?([A-Za-z_]\w{0,99})(?:=([^\s,\]]{1,30}))?(,?)/y;
  while (symbols.length < maxSymbols) {
    const match = test.exec(text);
    const name = match?.[1];
    if (!match || name === undefined || name === 'none') break;
    symbols.push({name, score: numberOf(match[2]) ?? 0});
    if (match[3] === '') break;
  }
  return symbols;
};

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? boundScore(Number(text)) : undefined;
