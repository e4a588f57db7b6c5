import test from 'ava';
import {ZodError} from 'zod';
import {fieldFaults} from '../../shared/fields.ts';
import {createMailFilterSchema, filterRuleSchema} from '../../shared/mail-filter.ts';

const faultsOf = (value: unknown): string[] => {
  const {error} = createMailFilterSchema.safeParse(value);
  return error ? fieldFaults(error).map(fault => fault.path) : [];
};

test('what may be left out is null, and a filter that lets mail in needs authenticated mail', t => {
  t.deepEqual(createMailFilterSchema.parse({action: 'block', match: 'subject', pattern: '*win*'}), {
    action: 'block',
    match: 'subject',
    header: null,
    pattern: '*win*',
    score: null,
    comment: null,
    authenticated: false,
  });
  const authenticated = (given: object) => createMailFilterSchema.parse({match: 'subject', pattern: 'x', ...given}).authenticated;
  t.deepEqual(
    [{action: 'allow'}, {action: 'score', score: -1}, {action: 'score', score: 1}, {action: 'allow', authenticated: false}].map(
      authenticated,
    ),
    [true, true, false, false],
  );
  t.deepEqual(faultsOf({action: 'block', match: 'subject', pattern: 'x', authenticated: true}), ['authenticated']);
});

test('addresses and domains are stored in the form they are compared in', t => {
  const patternOf = (match: string, pattern: string) => createMailFilterSchema.parse({action: 'allow', match, pattern}).pattern;

  t.is(patternOf('sender', 'News@BÜCHER.example'), 'news@xn--bcher-kva.example');
  t.is(patternOf('sender_domain', '@Example.COM'), 'example.com');
  t.is(patternOf('sender_domain', 'Example.COM'), 'example.com');
  t.is(patternOf('sender', '"Odd User"@Foo_Bar.test'), '"odd user"@foo_bar.test');
  t.is(patternOf('sender_domain', 'Foo_Bar.test'), 'foo_bar.test');
  t.is(patternOf('subject', 'Win*'), 'Win*');
});

test('a score belongs to action score and to nothing else', t => {
  const base = {match: 'subject', pattern: 'x'};

  t.deepEqual(faultsOf({...base, action: 'score'}), ['score']);
  t.deepEqual(faultsOf({...base, action: 'block', score: 1}), ['score']);
  t.deepEqual(faultsOf({...base, action: 'score', score: 1001}), ['score']);
  t.deepEqual(faultsOf({...base, action: 'score', score: -3.5}), []);
});

test('a header name belongs to match header and to nothing else', t => {
  const base = {action: 'allow', pattern: 'x'};

  t.deepEqual(faultsOf({...base, match: 'header'}), ['header']);
  t.deepEqual(faultsOf({...base, match: 'subject', header: 'List-Id'}), ['header']);
  t.deepEqual(faultsOf({...base, match: 'header', header: 'List Id'}), ['header']);
  t.deepEqual(faultsOf({...base, match: 'header', header: 'List-Id:'}), ['header']);
  t.deepEqual(faultsOf({...base, match: 'header', header: 'List-Id'}), []);
});

test('a pattern must be what its match compares with', t => {
  for (const [match, pattern] of [
    ['sender', 'example.com'],
    ['sender_domain', 'localhost'],
    ['sender_domain', 'a@example.com'],
    ['subject', 'ends in \\'],
    ['subject', ''],
    ['subject', 'two\nlines'],
  ])
    t.is(faultsOf({action: 'allow', match, pattern})[0], 'pattern', pattern);
});

test('quotes of an editor, blanks and invisible characters around an address or a domain are told, and names of other scripts are none', t => {
  const detailOf = (match: string, pattern: string) => {
    const {error} = createMailFilterSchema.safeParse({action: 'block', match, pattern});
    return error && fieldFaults(error).map(({path, detail}) => `${path} ${detail}`);
  };

  for (const [match, pattern, fault] of [
    ['sender_domain', '\u201cspam.example\u201d', 'has the quotation mark \u201c (U+201C); give the name without it'],
    ['sender_domain', 'x\u200b.example', 'has an invisible character (U+200B); give the name without it'],
    ['sender_domain', '@x .example', 'has a blank (U+0020); give the name without it'],
    ['sender', '\u201ca@x.example\u201d', 'has the quotation mark \u201d (U+201D); give the address without it'],
    ['sender', '\u201ca@x.example', 'has the quotation mark \u201c (U+201C); give the address without it'],
    ['sender', "'a@x.example'", "has the quotation mark ' (U+0027); give the address without it"],
    ['sender', '"a@x.example', 'has the quotation mark " (U+0022); give the address without it'],
    ['sender', 'a@x .example', 'has a blank (U+0020); give the address without it'],
    ['sender', 'a@x\u00ad.example', 'has an invisible character (U+00AD); give the address without it'],
    ['sender', '\u202aa@x.example', 'has an invisible character (U+202A); give the address without it'],
    ['sender', 'x', 'must be a mail address such as news@example.com'],
  ] as const)
    t.deepEqual(detailOf(match, pattern), [`pattern ${fault}`], JSON.stringify(pattern));
  for (const [match, pattern] of [
    ['sender', "o'brien@x.example"],
    ['sender', "'odd@x.example"],
    ['sender', '"odd user"@x.example'],
    ['sender', 'm\u00fcller@b\u00fccher.example'],
    ['sender', 'root@[192.0.2.1]'],
    ['sender_domain', 'b\u00fccher.example'],
    ['subject', '\u201cwin\u201d *'],
  ] as const)
    t.is(detailOf(match, pattern), undefined, pattern);
});

test('a filter that was stored with a quote in its address is still read from a file', t => {
  t.is(
    filterRuleSchema.safeParse({action: 'block', match: 'sender', pattern: '\u201ca@x.xn--example-b46c'}).data?.pattern,
    '\u201ca@x.xn--example-b46c',
  );
});

test('what a pattern may cost is bounded, and what costs little may be as long as ever', t => {
  const messages = (pattern: string, match = 'subject') =>
    fieldFaults(
      createMailFilterSchema.safeParse({action: 'block', match, pattern, ...(match === 'header' && {header: 'X-A'})}).error ??
        new ZodError([]),
    );
  const refused: [string, string][] = [
    ['*a'.repeat(21), 'has more than 20 *; take some out'],
    [
      `*a${'?'.repeat(32)}*`,
      'has a ? among more than 32 characters between two *; write the character that is meant, or a shorter part',
    ],
  ];

  for (const [pattern, detail] of refused)
    for (const match of ['subject', 'header']) t.deepEqual(messages(pattern, match), [{path: 'pattern', detail}]);
  for (const pattern of [
    '*a'.repeat(20),
    `*${'?'.repeat(32)}*`,
    `*${'a'.repeat(253)}*`,
    '?'.repeat(255),
    `a?${'b'.repeat(100)}*`,
  ])
    t.deepEqual(messages(pattern), [], pattern);
  t.deepEqual(messages(`${'\\*'.repeat(30)}*`), []);
});

test('all faults are reported at once, unknown members included', t => {
  t.deepEqual(faultsOf({action: 'drop', match: 'sender', pattern: 'a@example.com', colour: 'red'}).sort(), ['action', 'colour']);
});
