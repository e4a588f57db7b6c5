import test from 'ava';
import fc from 'fast-check';
import {
  createBuiltinScorer,
  parseSpamdResult,
  parseSpamScore,
  parseSpamStatus,
  upstreamVerdict,
} from '../../../../daemon/mail/scan/builtin-scorer.ts';
import {headersOf, receivedMail, sample} from '../../../helpers/received-mail.ts';

const scorer = createBuiltinScorer();
const mailWith = (...lines: string[]): Buffer => Buffer.from(`${lines.join('\r\n')}\r\n\r\nbody\r\n`);
const trusted = {isTrusted: true};

test('the test string alone is held by default thresholds, and not refused', async t => {
  t.deepEqual(await scorer.score(receivedMail({bytes: sample('gtube.eml'), hasTestString: true})), {
    score: 10,
    symbols: [{name: 'GTUBE', score: 10}],
    reason: 'spam',
  });
});

test('an unsuspicious mail scores nothing', async t => {
  t.deepEqual(await scorer.score(receivedMail()), {score: 0, symbols: [], reason: 'spam'});
});

test('a trusted filter in front is believed, the most detailed of its headers first', async t => {
  t.deepEqual(await scorer.score(receivedMail({bytes: sample('from-upstream.eml'), client: trusted})), {
    score: 7.4,
    symbols: [
      {name: 'URIBL_BLACK', score: 5},
      {name: 'R_MIXED_CHARSET', score: 2.5},
      {name: 'MIME_GOOD', score: -0.1},
    ],
    reason: 'rbl',
  });
});

test('a stranger’s spam headers are ignored', async t => {
  t.is((await scorer.score(receivedMail({bytes: sample('from-upstream.eml')}))).score, 0);
  t.is((await scorer.score(receivedMail({bytes: mailWith('X-Spam-Score: -50'), hasTestString: true}))).score, 10);
});

test('SpamAssassin’s and Amavis’s status lines are understood', t => {
  t.deepEqual(
    parseSpamStatus('Yes, score=6.2 required=5.0 tests=BAYES_99,HTML_MESSAGE,\tURIBL_BLACK autolearn=no version=3.4.6'),
    {score: 6.2, symbols: ['BAYES_99', 'HTML_MESSAGE', 'URIBL_BLACK'].map(name => ({name, score: 0}))},
  );
  t.deepEqual(parseSpamStatus('No, hits=-1.5 tagged_above=-999 required=6.31 tests=[BAYES_00=-1.9, X_Y=0.4] autolearn=ham'), {
    score: -1.5,
    symbols: [
      {name: 'BAYES_00', score: -1.9},
      {name: 'X_Y', score: 0.4},
    ],
  });
  t.deepEqual(parseSpamStatus('No, score=0.0 required=5.0 tests=none'), {score: 0, symbols: []});
});

test('a bare score is one symbol', t => {
  t.deepEqual(parseSpamScore('6.2 (++++++)'), {score: 6.2, symbols: [{name: 'UPSTREAM_SCORE', score: 6.2}]});
});

test('what is no number is no verdict', t => {
  for (const text of ['', 'none', 'NaN', '0x10', '1,5', '--3', '++++']) {
    t.is(parseSpamScore(text), undefined, text);
    t.is(parseSpamStatus(`Yes, score=${text} tests=A`), undefined, text);
    t.is(parseSpamdResult(`default: True [${text} / 15.00]; A(1.00)[]`), undefined, text);
  }
});

test('absurd scores are bounded', t => {
  t.is(parseSpamScore('1e999')?.score, 10_000);
  t.is(parseSpamScore('-99999999')?.score, -10_000);
  t.is(parseSpamdResult('default: True [9e9 / 15.00]; A(1e400)[]')?.symbols[0]?.score, 10_000);
});

test('of two headers of one name the higher score counts', t => {
  const headers = headersOf(mailWith('X-Spam-Score: -40', 'X-Spam-Score: 7', 'X-Spam-Score: 2'));

  t.is(upstreamVerdict(headers)?.score, 7);
});

test('the test string is counted once', async t => {
  const bytes = mailWith('X-Spam-Status: Yes, score=2 tests=[GTUBE=2, OTHER=0.5]');

  const {symbols} = await scorer.score(receivedMail({bytes, client: trusted, hasTestString: true}));

  t.deepEqual(
    symbols.map(symbol => symbol.name),
    ['GTUBE', 'OTHER'],
  );
});

test('any header gives a finite score within bounds and never an error', t => {
  const word = fc.oneof(
    fc.constantFrom(
      'score=',
      'hits=',
      'tests=',
      '[',
      ']',
      '/',
      ';',
      ',',
      '(',
      ')',
      'A_B',
      'default: False ',
      ' ',
      '\t',
      '=',
      '\r\n ',
    ),
    fc.double().map(String),
    fc.string(),
  );
  const value = fc.array(word, {maxLength: 30}).map(words => words.join(''));
  fc.assert(
    fc.property(fc.constantFrom('X-Spamd-Result', 'X-Spam-Status', 'X-Spam-Score'), value, (name, text) => {
      const verdict = upstreamVerdict([{name, value: text}]);
      for (const score of verdict ? [verdict.score, ...verdict.symbols.map(symbol => symbol.score)] : [])
        t.true(Number.isFinite(score) && Math.abs(score) <= 10_000);
    }),
    {numRuns: 2000},
  );
  t.is(upstreamVerdict([]), undefined);
});

test('headers made to be slow are read at once', t => {
  const long = 200_000;
  const hostile = [
    `default: False [1 / 2]${';'.repeat(long)}`,
    `default: False [1 / 2];${' '.repeat(long)}A(1)`,
    `default: False [1 / 2];${'A('.repeat(long)}`,
    '['.repeat(long),
    'score='.repeat(long),
    `score=1 tests=${'A'.repeat(long)}`,
    `score=1 tests=${'A,'.repeat(long)}`,
    `score=${'1'.repeat(long)}`,
    '1'.repeat(long),
    ' '.repeat(long),
  ];

  for (const text of hostile)
    for (const parse of [parseSpamdResult, parseSpamStatus, parseSpamScore]) t.notThrows(() => parse(text), text.slice(0, 20));
});
