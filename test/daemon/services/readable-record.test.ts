import test from 'ava';
import {isComplete, toReadable} from '../../../daemon/services/readable-record.ts';
import {domainSchema} from '../../../shared/domain.ts';
import {change, newFields, stampOf} from '../../helpers/config-history.ts';

const domain = change('domain', 1, stampOf(1), newFields.domain('one.test'));
const as = <K>(kind: K, {id, fields}: typeof domain) => ({kind, id, fields});

test('a domain reads as the description has it, in its order, and was updated at its last write', t => {
  const record = {...domain, fields: {...domain.fields, ...change('domain', 1, stampOf(500), {reject_threshold: 20}).fields}};

  const readable = toReadable(as('domain' as const, record));

  const {retention: _, ...shape} = domainSchema.shape;
  t.deepEqual(Object.keys(readable), Object.keys(shape));
  t.deepEqual(domainSchema.parse(readable), readable);
  t.like(readable, {id: 1, reject_threshold: 20, updated_at: '2026-01-01T00:00:00.500Z'});
});

test('a setting that an earlier version has not written has the default of a new domain, and a value that is wrong has not', t => {
  const {dkim_active: _, tenant_id: __, ...fields} = domain.fields;
  const earlier = {...domain, fields};
  const wrong = {...domain, fields: {...fields, dkim_active: [null, stampOf(2)] as [null, string]}};

  t.true(isComplete(earlier));
  t.like(toReadable(as('domain' as const, earlier)), {dkim_active: false, tenant_id: null});
  t.false(isComplete(wrong));
});

const withRetention = (retention: unknown) =>
  change('domain', 1, stampOf(1), {...newFields.domain('one.test'), retention} as never);
const readAs = (retention: unknown) => toReadable(as('domain' as const, withRetention(retention)));

test('a retention reads without what only a later version knows, and one that says nothing is none', t => {
  const later = {by_reason: {malware: 90, phishing: 60}, days: 14, from: 'arrival'};

  t.deepEqual(readAs(later).retention, {days: 14, by_reason: {phishing: 60}});
  t.deepEqual(Object.keys(readAs(later)), Object.keys(domainSchema.shape));
  t.deepEqual(domainSchema.parse(readAs(later)), readAs(later));
  for (const retention of [null, {}, {days: null}, {days: null, by_reason: {}}, {by_reason: {malware: 90}}]) {
    t.true(isComplete(withRetention(retention)), JSON.stringify(retention));
    t.false(Object.hasOwn(readAs(retention), 'retention'), JSON.stringify(retention));
  }
});

test('a retention that cannot be read is the longest that there is, and its domain stays', t => {
  const wrong = [
    {days: 0},
    {days: '14'},
    {days: 36_501},
    {by_reason: {spam: -1}},
    {days: 14, by_reason: 'a'},
    14,
    [],
    'a',
    false,
  ];
  const ofLater = [{weeks: 2}, {days: null, forever: true}];

  for (const retention of [...wrong, ...ofLater]) {
    t.true(isComplete(withRetention(retention)), JSON.stringify(retention));
    t.deepEqual(readAs(retention).retention, {days: 36_500, by_reason: {}}, JSON.stringify(retention));
    t.notThrows(() => domainSchema.parse(readAs(retention)));
  }
});

test('a domain without its name or its creation is not complete', t => {
  for (const name of ['name', 'created_at'])
    t.false(
      isComplete({...domain, fields: Object.fromEntries(Object.entries(domain.fields).filter(([other]) => other !== name))}),
    );
});

test('what an earlier version did not know of a node or a filter reads as null', t => {
  const node = change('node', 1, stampOf(1), newFields.node(1));
  const filter = change('mail_filter', 1, stampOf(1), newFields.mailFilter(1));

  t.true(isComplete(node));
  t.true(isComplete(filter));
  t.is(toReadable(as('node' as const, node)).smtp_listen, null);
  t.falsy(toReadable(as('mail_filter' as const, filter)).authenticated);
});

test('a key for several domains has at most 100 ids, and as many names that a domain can have', t => {
  const isKey = (fields: object) =>
    isComplete(change('api_key', 1, stampOf(1), {...newFields.apiKey(1), scope: 'domain-admin', ...fields} as never));
  const many = (count: number) => Array.from({length: count}, (_, n) => n + 1);
  const named = (...domains: unknown[]) => isKey({domains, domain_ids: [1]});

  t.true(isKey({domain_ids: many(100), domains: many(100).map(n => `d${n}.test`)}));
  for (const domain_ids of [[], many(101), many(1_000_000), ['1'], [1.5], [-1], [0], [null], [2 ** 53], {0: 1}, '1', {length: 1}])
    t.false(isKey({domain_ids}), JSON.stringify(domain_ids).slice(0, 50));
  t.false(named());
  t.false(named(...many(101).map(n => `d${n}.test`)));
  for (const name of ['', 'a\0.test', 'A.test', 'a', '\u001b[2J.test', `${'a.'.repeat(200)}test`, 5, null])
    t.false(named('a.test', name), JSON.stringify(name));
});

test('a digest is complete also with what only a later version, or another machine, can read', t => {
  const withMore = (fields: object) => change('digest', 1, stampOf(1), {...newFields.digest(1), ...fields});

  t.true(isComplete(withMore({timezone: 'Mars/Olympus', language: 'fr', actions: {spam: 'release', virus: 'ask'}})));
  t.false(isComplete(withMore({actions: 'none'})));
});

test('a webhook is complete with an address that can be read alone', t => {
  const withUrl = (url: string) => change('webhook', 1, stampOf(1), {...newFields.webhook(1), url});

  t.true(isComplete(withUrl('https://hooks.test/a')));
  t.false(isComplete(withUrl('hooks.test')));
});
