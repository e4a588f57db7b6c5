import test from 'ava';
import fc from 'fast-check';
import {type HoldQuery, parametersOf, queryWords} from '../../../../../cli/quarantine/hold-query.ts';
import {completeQuery, parseQuery, printQuery, queryFault, withAddressFilters} from '../../../../../cli/quarantine/query-line.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

test('every part of a query narrows by what its name says', t => {
  const query = parseQuery(
    'domain:example.com from:bank.test sender:news@x.org to:b@example.com address:ceo@bank.test since:2h until:1d score>=8 score<15 reason:spam node:mx1 requested:yes invoice march',
  );

  t.deepEqual(query, {
    domain: 'example.com',
    from: 'bank.test',
    sender: 'news@x.org',
    recipient: 'b@example.com',
    address: 'ceo@bank.test',
    since: '2h',
    until: '1d',
    least: {score: 8, isIncluded: true},
    most: {score: 15, isIncluded: false},
    reason: 'spam',
    node: 'mx1',
    requested: 'yes',
    subject: 'invoice march',
  });
  t.deepEqual(parametersOf(query, now), {
    domain: 'example.com',
    from: 'bank.test',
    sender: 'news@x.org',
    recipient: 'b@example.com',
    address: 'ceo@bank.test',
    subject: 'invoice march',
    since: '2026-03-01T10:00:00.000Z',
    until: '2026-02-28T12:00:00.000Z',
    min_score: '8',
    max_score: '14.999999999',
    reason: 'spam',
    node: 'mx1',
    requested: 'true',
  });
});

test('the names of the API mean the same as the short ones', t => {
  const short = parseQuery('sender:<> to:a@example.com score>=6.5 score<=9');

  t.deepEqual(parseQuery('sender:<> recipient:a@example.com min_score:6.5 max_score:9'), short);
});

test('odd addresses and domains are filters too, and are written as they are read', t => {
  for (const [sender, recipient] of [
    ['a..b@example.org', 'ab.@example.com'],
    ['"odd user"@example.org', '"o\\"d \\\\"@example.com'],
    ['foo_bar.test', 'a@foo_bar.test'],
  ] as const) {
    const query = {sender, recipient, domain: 'foo_bar.test'};

    t.deepEqual(parseQuery(printQuery(query)), query);
  }
});

test('a duration is taken from the time of each request', t => {
  const query = parseQuery('since:1h');

  t.is(parametersOf(query, now).since, '2026-03-01T11:00:00.000Z');
  t.is(parametersOf(query, now + 60_000).since, '2026-03-01T11:01:00.000Z');
});

test('quotes keep spaces and what would be a filter', t => {
  t.is(parseQuery('"Re: your  invoice"').subject, 'Re: your  invoice');
  t.is(parseQuery('subject:"a \\"b\\" \\\\ "').subject, 'a "b" \\ ');
  t.is(parseQuery('say "hello there" twice').subject, 'say hello there twice');
});

for (const [text, named] of [
  ['domain:example', 'domain:example'],
  ['invoice colour:red', 'colour:red'],
  ['from:a@', 'from:a@'],
  ['from:<>', 'sender:<>'],
  ['address:bank.test', 'address:bank.test'],
  ['address:a@b.test address:c@b.test', 'another address filter'],
  ['to:example.com', 'to:example.com'],
  ['since:someday', 'since:someday'],
  ['score:8', 'score:8'],
  ['score>=high', 'score>=high'],
  ['score>1 score>=2', 'score>=2'],
  ['reason:virus', 'spam, phishing, sandbox, rbl'],
  ['node:-x', 'node:-x'],
  ['node=mx1', 'node:mx1'],
  ['domain:a.org domain:b.org', 'domain:b.org'],
  ['subject:a b', 'the words "b"'],
  ['subject:""', 'subject:""'],
  ['an "open quote', 'open quote'],
] as const)
  test(`what is wrong in ${text} is named`, t => {
    t.true(queryFault(text)?.includes(named), queryFault(text));
  });

const word = fc.string({minLength: 1, maxLength: 30}).filter(text => !/[\x00-\x1f\x7f-\x9f]/.test(text));
const anyWord = fc
  .string({unit: 'grapheme', minLength: 1, maxLength: 30})
  .filter(text => !/[\x00-\x1f\x7f-\x9f]/.test(text) && text.length <= 200);
const bounds = fc.record({
  score: fc.integer({min: -99_999_999, max: 99_999_999}).map(cents => cents / 100 + 0),
  isIncluded: fc.boolean(),
});
const times = fc.oneof(
  fc.constantFrom('2h', '1h30m', '90d', '2026-03-01', '2026-03-01 12:30', '2026-03-01T09:30:00Z', '2026-03-01T09:30+02:00'),
  fc.integer({min: 1, max: 999}).map(hours => `${hours}h`),
);
const address = fc.emailAddress().filter(text => !text.startsWith('*@'));
const isPossible = ({least, most}: HoldQuery): boolean => least === undefined || most === undefined || least.score < most.score;
const queries: fc.Arbitrary<HoldQuery> = fc
  .record(
    {
      domain: fc.domain(),
      sender: fc.oneof(address, fc.domain(), fc.constantFrom('<>', '@example.com', '"a \\" b"@example.com')),
      from: fc.oneof(address, fc.domain()),
      address,
      recipient: address,
      subject: fc.oneof(word, anyWord, fc.constantFrom(' a', 'a ', 'a  b', 'from:x', '"', '\\', '\\"', 'a\u00a0b', 'score>=8')),
      since: times,
      until: times,
      least: bounds,
      most: bounds,
      reason: fc.constantFrom('spam', 'phishing', 'sandbox', 'rbl'),
      node: fc.constantFrom('mx1', 'a', 'mx-1.example_x'),
    },
    {requiredKeys: []},
  )
  .filter(isPossible);

test('a query that is printed reads back as the same', t => {
  fc.assert(
    fc.property(queries, query => {
      t.deepEqual(parseQuery(printQuery(query)), query);
    }),
    {numRuns: 2000},
  );
});

test('whatever is typed is a query or has a fault, and what is a query prints as one', t => {
  const pieces = fc.constantFrom('from:', 'score', '>=', '8', '"', '\\', ' ', 'a@b.org', 'reason:', 'spam', 'é', ':', '<>', 'x');
  fc.assert(
    fc.property(fc.array(pieces, {maxLength: 12}), parts => {
      const text = parts.join('');
      if (queryFault(text) === undefined) t.deepEqual(parseQuery(printQuery(parseQuery(text))), parseQuery(text));
    }),
    {numRuns: 3000},
  );
});

test('a query in words names each of its parts', t => {
  t.is(queryWords({}), 'all held mail');
  t.is(
    queryWords(
      parseQuery(
        'domain:example.com sender:<> from:bank.test since:2h until:2026-03-01 score>5 score<=9 reason:rbl node:mx1 "a b"',
      ),
    ),
    'of example.com, bounces, from bank.test, subject with "a b", in the last 2h, before 2026-03-01, score above 5 and at most 9, held for rbl, on mx1',
  );
  t.is(queryWords(parseQuery('sender:x.org address:ceo@bank.test')), 'sender x.org, from or to ceo@bank.test');
});

test('the part at the end of the line is completed', t => {
  const known = {domains: ['example.com', 'example.org'], nodes: ['mx1']};

  t.deepEqual(completeQuery('re', known), ['reason:', 'requested:']);
  t.deepEqual(completeQuery('invoice reason:s', known), ['invoice reason:spam', 'invoice reason:sandbox']);
  t.deepEqual(completeQuery('domain:example.o', known), ['domain:example.org']);
  t.deepEqual(completeQuery('a node:', known), ['a node:mx1']);
  t.true(completeQuery('x ', known).includes('x score>='));
});

test('a bare address is looked for wherever a mail has addresses, and no other word is', t => {
  t.is(withAddressFilters('CEO@Example.com'), 'address:CEO@Example.com');
  t.is(withAddressFilters('news@x.org since:2h invoice'), 'address:news@x.org since:2h invoice');
  for (const text of ['"news@x.org"', 'from:a@example.com', 'invoice @ 5', 'a@', ' invoice ', '"open'])
    t.is(withAddressFilters(text), text);
});
