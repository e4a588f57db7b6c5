import test from 'ava';
import fc from 'fast-check';
import {createYield} from '../../../../daemon/services/event-loop-yield.ts';
import {compileFilters, createFilterSet, type FilteredMail} from '../../../../daemon/services/intake/filters.ts';
import type {Score} from '../../../../daemon/services/intake/mail.ts';
import {allDomains} from '../../../../daemon/services/records.ts';
import {filterActions, filterMatches} from '../../../../shared/filter-rules.ts';
import {createMailFilterSchema, type MailFilter} from '../../../../shared/mail-filter.ts';
import {whileInherited} from '../../../helpers/inherited.ts';
import {readHeader} from '../../../helpers/received-mail.ts';

const fieldsOf = ({domain_id: _, ...fields}: Partial<MailFilter>) => fields;

/** A filter as returned by the store: in the schema's canonical form. */
const filter = (given: Partial<MailFilter> & Pick<MailFilter, 'action' | 'match' | 'pattern'>): MailFilter => ({
  ...createMailFilterSchema.parse({...fieldsOf(given), ...(given.action === 'score' && {score: given.score ?? 1})}),
  id: 1,
  domain_id: given.domain_id ?? 1,
  created_at: '2025-11-04T08:00:00.000Z',
});

const mail = (sender: string, ...lines: string[]): FilteredMail => ({
  envelope: {sender, recipients: ['ben@example.com'], isUtf8: false, isEightBit: false},
  ...readHeader(`${lines.join('\r\n')}\r\n\r\n`),
  isAuthentic: true,
});

const scored: Score = {score: 5.9, symbols: [{name: 'BAYES_SPAM', score: 5.9}], reason: 'spam'};

const applyFilters = async (filters: MailFilter[], to: FilteredMail, score: Score) =>
  createFilterSet(compileFilters(filters), createYield()).apply(to, score);

const overrideOf = async (filters: MailFilter[], to: FilteredMail) => (await applyFilters(filters, to, scored)).override;

test('a mail that no filter matches keeps its score and symbols', async t => {
  const other = filter({action: 'block', match: 'sender', pattern: 'other@example.net'});

  t.deepEqual(await applyFilters([other], mail('ada@example.net'), scored), {score: scored, override: undefined});
});

test.serial('without a filter that matches nothing overrides the score, whatever objects inherit', async t => {
  t.is(await whileInherited('override', 'relay', async () => overrideOf([], mail('ada@example.net'))), undefined);
});

test('scores add up without the noise of binary fractions, a symbol for each', async t => {
  const filters = [0.1, 2, -1].map(score => filter({action: 'score', match: 'sender', pattern: 'ada@example.net', score}));

  const {score, override} = await applyFilters(filters, mail('ada@example.net'), scored);

  t.is((await applyFilters(filters.slice(0, 1), mail('ada@example.net'), scored)).score.score, 6);
  t.is(score.score, 7);
  t.deepEqual(
    score.symbols.slice(1),
    [0.1, 2, -1].map(points => ({name: 'FILTER_SCORE', score: points})),
  );
  t.is(override, undefined);
});

test('allow relays, block rejects, and the score stays', async t => {
  for (const [action, override, symbol] of [
    ['allow', 'relay', 'FILTER_ALLOW'],
    ['block', 'block', 'FILTER_BLOCK'],
  ] as const) {
    const filtered = await applyFilters(
      [filter({action, match: 'sender', pattern: 'ada@example.net'})],
      mail('Ada@Example.NET'),
      scored,
    );

    t.is(filtered.override, override);
    t.deepEqual(filtered.score, {...scored, symbols: [...scored.symbols, {name: symbol, score: 0}]});
  }
});

test('a sender domain covers what is below it, and nothing that merely ends alike', async t => {
  const filters = [filter({action: 'block', match: 'sender_domain', pattern: '@Example.net'})];

  for (const sender of [
    'a@example.net',
    'a@news.EXAMPLE.net',
    `${'x'.repeat(70)}@example.net`,
    '"@x"@a.b.example.net',
    'a@x_y.example.net',
  ])
    t.is(await overrideOf(filters, mail(sender)), 'block', sender);
  for (const sender of ['', 'a@badexample.net', 'a@example.net.example.org', 'example.net@example.org', 'a@net'])
    t.is(await overrideOf(filters, mail(sender)), undefined, sender);
});

test('an odd address is filtered like any other', async t => {
  for (const sender of ['a..b@example.net', 'ab.@example.net', '"odd user"@example.net', 'a@foo_bar.test']) {
    const domain = sender.slice(sender.lastIndexOf('@') + 1);

    t.is(await overrideOf([filter({action: 'block', match: 'sender', pattern: sender.toUpperCase()})], mail(sender)), 'block');
    t.is(await overrideOf([filter({action: 'allow', match: 'sender_domain', pattern: `@${domain}`})], mail(sender)), 'relay');
  }
});

test('what keeps mail out looks at From too, what lets mail in does not', async t => {
  const spoofed = mail('bounce@mailer.example.org', 'From: "Ada" <ada@example.net>');

  for (const pattern of ['ada@example.net', 'example.net']) {
    const match = pattern.includes('@') ? 'sender' : 'sender_domain';
    t.is(await overrideOf([filter({action: 'block', match, pattern})], spoofed), 'block');
    t.is(await overrideOf([filter({action: 'allow', match, pattern})], spoofed), undefined);
    t.is((await applyFilters([filter({action: 'score', match, pattern, score: 3})], spoofed, scored)).score.score, 8.9);
    t.is((await applyFilters([filter({action: 'score', match, pattern, score: -3})], spoofed, scored)).score.score, 5.9);
  }
});

test('a name made to look like an address or to hide one changes nothing', async t => {
  const block = [filter({action: 'block', match: 'sender', pattern: 'ada@example.net'})];

  t.is(await overrideOf(block, mail('', 'From: =?utf-8?q?=22?= <ada@example.net>')), 'block');
  t.is(await overrideOf(block, mail('', 'From: "x <b@example.org>" <ada@example.net>, c@example.org')), 'block');
  t.is(await overrideOf(block, mail('', 'From: =?utf-8?q?ada=40example.net=2C?= <b@example.org>')), undefined);
});

test('subjects and headers are compared decoded and as a whole', async t => {
  const to = mail(
    'ada@example.net',
    'Subject: =?utf-8?q?Gro=C3=9Fe_GEWINNE?= warten',
    'List-Id: <one.example.org>',
    'list-id: two',
  );

  t.is(await overrideOf([filter({action: 'block', match: 'subject', pattern: 'große gewinne*'})], to), 'block');
  t.is(await overrideOf([filter({action: 'block', match: 'subject', pattern: 'große gewinne'})], to), undefined);
  t.is(await overrideOf([filter({action: 'block', match: 'header', header: 'LIST-ID', pattern: 'tw?'})], to), 'block');
  t.is(await overrideOf([filter({action: 'block', match: 'header', header: 'X-None', pattern: '*'})], to), undefined);
});

test('the more exact of allow and block decides, in whichever order they are', async t => {
  const to = mail('ada@news.example.net', 'Subject: offer', 'X-Shop: yes');
  const inOrder: Pick<MailFilter, 'match' | 'pattern' | 'header'>[] = [
    {match: 'sender', pattern: 'ada@news.example.net', header: null},
    {match: 'sender_domain', pattern: 'news.example.net', header: null},
    {match: 'sender_domain', pattern: 'example.net', header: null},
    {match: 'header', pattern: 'yes', header: 'X-Shop'},
    {match: 'subject', pattern: 'off*', header: null},
  ];

  for (const [place, exact] of inOrder.entries()) {
    for (const vague of inOrder.slice(place + 1)) {
      const allow = filter({action: 'allow', ...exact});
      const block = filter({action: 'block', ...vague});
      t.is(await overrideOf([allow, block], to), 'relay');
      t.is(await overrideOf([block, allow], to), 'relay');
    }
    const both = [filter({action: 'allow', ...exact}), filter({action: 'block', ...exact})];
    t.is(await overrideOf(both, to), 'block');
    t.is(await overrideOf(both.reverse(), to), 'block');
  }
});

const decidedBetween: [own: string, forAll: string, override: string][] = [
  // Equally specific: that of the domain.
  ['allow sender ada@news.example.net', 'block sender ada@news.example.net', 'relay'],
  ['block sender ada@news.example.net', 'allow sender ada@news.example.net', 'block'],
  ['allow sender_domain example.net', 'block sender_domain example.net', 'relay'],
  ['allow header yes', 'block header y*', 'relay'],
  ['block subject off*', 'allow subject offer', 'block'],
  // The more specific one, wherever it is.
  ['allow sender_domain news.example.net', 'block sender ada@news.example.net', 'block'],
  ['allow sender_domain example.net', 'block sender_domain news.example.net', 'block'],
  ['allow subject offer', 'block header yes', 'block'],
  ['block sender_domain example.net', 'allow sender ada@news.example.net', 'relay'],
  // What does not match decides nothing.
  ['allow sender other@example.net', 'block subject offer', 'block'],
  // Equally specific, and on the same level: block.
  ['allow subject offer, block subject off*', 'allow subject offer', 'block'],
  ['score subject offer', 'allow subject offer, block subject off*', 'block'],
];

for (const [own, forAll, override] of decidedBetween)
  test(`between "${own}" of the domain and "${forAll}" for all domains: ${override}`, async t => {
    const to = mail('ada@news.example.net', 'Subject: offer', 'X-Shop: yes');
    const rules = (text: string, domain_id: number) =>
      text.split(', ').map(rule => {
        const [action, match, pattern = ''] = rule.split(' ') as [MailFilter['action'], MailFilter['match'], string];
        return filter({action, match, pattern, domain_id, header: match === 'header' ? 'X-Shop' : null});
      });
    const both = [...rules(own, 1), ...rules(forAll, allDomains)];

    t.is(await overrideOf(both, to), override as 'relay' | 'block');
    t.is(await overrideOf(both.toReversed(), to), override as 'relay' | 'block');
  });

test('scores of a domain and for all domains add up', async t => {
  const filters = [1, allDomains].map(domain_id =>
    filter({action: 'score', match: 'subject', pattern: 'offer', score: 2, domain_id}),
  );

  const {score} = await applyFilters(filters, mail('ada@example.net', 'Subject: offer'), scored);

  t.is(score.score, 9.9);
});

test('the order of the filters changes neither score nor override, and the given score is left alone', async t => {
  const filters = fc.array(
    fc
      .record({
        action: fc.constantFrom(...filterActions),
        match: fc.constantFrom(...filterMatches),
        pattern: fc.constantFrom('ada@example.net', 'example.net', '*', 'off*'),
        score: fc.integer({min: -50, max: 50}).map(tenths => tenths / 10),
      })
      .filter(({match, pattern}) =>
        match === 'sender' ? pattern.includes('@') : match !== 'sender_domain' || pattern === 'example.net',
      )
      .map(({score, ...rest}) =>
        filter({...rest, score: rest.action === 'score' ? score : null, header: rest.match === 'header' ? 'X-Shop' : null}),
      ),
    {maxLength: 8},
  );
  const to = mail('ada@example.net', 'Subject: offer', 'X-Shop: offended');
  await fc.assert(
    fc.asyncProperty(filters, async list => {
      const before = structuredClone(scored);
      const forth = await applyFilters(list, to, scored);
      const back = await applyFilters([...list].reverse(), to, scored);

      t.deepEqual(scored, before);
      t.is(forth.override, back.override);
      t.true(Math.abs(forth.score.score - back.score.score) < 0.002);
      const matched = forth.score.symbols.filter(symbol => symbol.name === 'FILTER_SCORE');
      t.true(Math.abs(matched.reduce((sum, {score}) => sum + score, 5.9) - forth.score.score) < 0.002);
    }),
  );
});

test('many filters on a mail made to be slow leave other work its turns', async t => {
  const pattern = `*${'a'.repeat(253)}b`;
  // Ten times the number that a domain may have: a thousand would be finished within a few slices.
  const filters = Array.from({length: 10_000}, () => filter({action: 'block', match: 'header', header: 'X-Slow', pattern}));
  const slow = mail('a@example.net', ...Array.from({length: 200}, () => `X-Slow: ${'a'.repeat(900)}`));
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  }, 0);

  const {override} = await applyFilters(filters, slow, scored);
  clearInterval(others);

  t.is(override, undefined);
  t.log(`${turns} turns`);
  t.true(turns > 5);
});

test('a filter that was stored before patterns had bounds is applied', async t => {
  const stored = (pattern: string): MailFilter => ({...filter({action: 'block', match: 'subject', pattern: 'x'}), pattern});
  const to = mail('ada@example.net', `Subject: ${'ab'.repeat(60)}, ${'xy'.repeat(50)}, end`);

  t.is(await overrideOf([stored('*a'.repeat(50).concat('*'))], to), 'block');
  t.is(await overrideOf([stored(`*,?${'x?'.repeat(50)},*`)], to), 'block');
  t.is(await overrideOf([stored(`*,?${'x?'.repeat(51)},*`)], to), undefined);
});

test('only the beginning of headers without measure is looked at', async t => {
  const padding = Array.from({length: 8}, () => `From: ${'x'.repeat(900)}@example.com`);
  const byHeader = [filter({action: 'block', match: 'header', header: 'From', pattern: '*@example.net'})];
  const bySender = [filter({action: 'block', match: 'sender_domain', pattern: 'example.net'})];
  const near = mail('', ...padding, 'From: ada@example.net');
  const far = mail('', ...padding, ...padding, 'From: ada@example.net');

  t.is(await overrideOf(byHeader, near), 'block');
  t.is(await overrideOf(bySender, near), 'block');
  t.is(await overrideOf(byHeader, far), undefined);
  t.is(await overrideOf(bySender, far), undefined);
});
