import test from 'ava';
import {loadRules} from '../../../../../cli/command-line/rules.ts';
import {initialList, shownRows} from '../../../../../cli/dashboard/list/list.ts';
import {askToRotate} from '../../../../../cli/dashboard/screens/keys/key-actions.ts';
import {checkKeyForm} from '../../../../../cli/dashboard/screens/keys/key-form.ts';
import {keyPage, keysList} from '../../../../../cli/dashboard/screens/keys/keys-list.ts';
import type {Shell} from '../../../../../cli/dashboard/shell/shell.ts';
import {createTheme} from '../../../../../cli/dashboard/shell/theme.ts';
import {conditionOf} from '../../../../../cli/key/key-fields.ts';
import type {ApiKey} from '../../../../../shared/api-key.ts';
import {domain, hostile, key as sampleKey} from '../../../../helpers/cli/sample-records.ts';
import {drawnList, fits, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';
import {drawDashboard} from '../../../../helpers/dashboard/drawn-dashboard.ts';
import {createFakeShell} from '../../../../helpers/dashboard/fake-shell.ts';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const dayMs = 86_400_000;
const at = (days: number): string => new Date(nowMs + days * dayMs).toISOString();
const theme = createTheme(true);

const key = (id: number, name: string, changes: Partial<ApiKey> = {}): ApiKey => ({
  ...sampleKey,
  id,
  name,
  last_used_at: at(-0.1),
  created_at: at(-100),
  ...changes,
});

const stateText = (changes: Partial<ApiKey>): string => conditionOf(key(1, 'a', changes), nowMs).text;

test('a key that ends soon, has ended, or is not used any more stands out by a glyph and words', t => {
  t.is(stateText({}), '● active');
  t.is(stateText({expires_at: at(15)}), '● active');
  t.is(stateText({expires_at: at(13.5)}), '▲ 13d left');
  t.is(stateText({expires_at: at(-1)}), '✗ expired');
  t.is(stateText({last_used_at: at(-89)}), '● active');
  t.is(stateText({last_used_at: at(-91)}), '◌ idle 91d');
  t.is(stateText({last_used_at: null, created_at: at(-29)}), '● active');
  t.is(stateText({last_used_at: null, created_at: at(-31)}), '◌ unused');
  t.is(stateText({revoked_at: at(-1), expires_at: at(-2), last_used_at: null}), '✗ revoked');
});

const keys = [
  key(1, 'web', {scope: 'read-only'}),
  key(2, 'admin', {scope: 'full-admin', last_used_at: at(-200)}),
  key(3, 'shop', {scope: 'domain-admin', domain: 'shop.example', expires_at: at(3)}),
  key(4, 'gone', {revoked_at: at(-1)}),
];
const listOf = (value: ApiKey[] | undefined) =>
  keysList({loaded: {value, loadedAtMs: nowMs, failure: undefined}, ownId: 2, nowMs, theme});
const names = (filter: string, order = 0): string[] => shownRows(listOf(keys), {filter, order}).map(({name}) => name);
const orders = listOf(keys).orders?.map(({name}) => name) ?? [];

test('keys are sorted by what is asked for, with what wants to be looked at first', t => {
  const by = (order: string): string[] => names('', orders.indexOf(order));

  t.deepEqual(by('name'), ['admin', 'gone', 'shop', 'web']);
  t.deepEqual(by('state'), ['shop', 'admin', 'web', 'gone']);
  t.deepEqual(by('last use').at(-1), 'admin');
  t.deepEqual(by('end')[0], 'shop');
  t.deepEqual(by('scope')[0], 'shop');
});

test('a filter finds names, scopes, domains and states, all words at once', t => {
  t.deepEqual(names('SHOP.EX'), ['shop']);
  t.deepEqual(names('idle full-admin'), ['admin']);
  t.deepEqual(names('revoked'), ['gone']);
  t.deepEqual(names('shop admin web'), []);
});

test('the list fits, whatever keys are called and however many there are', t => {
  const many = Array.from({length: 200}, (_, n) => key(n, hostile, {domain: hostile, key_prefix: hostile, id: 9e15 - n}));
  for (const size of [
    {columns: 60, rows: 10},
    {columns: 80, rows: 19},
    {columns: 200, rows: 55},
  ])
    for (const all of [many, [], undefined]) fits(t, drawnList(listOf(all), initialList, size, nowMs).split('\n'), size);
});

test('the key in use is marked, and how many want to be looked at is said', t => {
  const text = drawnList(listOf(keys), initialList, undefined, nowMs);

  t.regex(text, /4 keys · ▲ 2 to look at +by name · read now/);
  t.regex(text, /^\* +admin .* ◌ idle 200d/m);
  t.regex(text, /^ +shop .* ▲ 3d left/m);
});

test('the page of a key says all of its record, and that it is the one in use', t => {
  const lines = keyPage(key(7, hostile, {domain: hostile}), {isOwn: true, nowMs, theme}).lines(58);

  fits(t, lines, {columns: 58, rows: 100});
  t.true(lines.map(withoutStyle).includes('This is the key in use here.'));
});

test('the page of a key names all its domains, the list the first and how many more, and each is found', t => {
  const domains = ['one.test', 'two.test', 'three.test'];
  const several = key(7, 'shop', {scope: 'domain-admin', domains});

  const page = keyPage(several, {isOwn: false, nowMs, theme}).lines(100).map(withoutStyle).join('\n');

  t.regex(page, /Domains +one\.test, two\.test, three\.test/);
  t.regex(drawnList(listOf([several]), initialList, undefined, nowMs), /domain-admin for one\.test \+2/);
  t.is(shownRows(listOf([several]), {...initialList, filter: 'three.test'}).length, 1);
});

test('domains of a key that were deleted are marked, also where another domain has the name', async t => {
  const domains = ['one.test', 'two.test'];
  const made = key(7, 'shop', {scope: 'domain-admin', domains, domain_ids: [1, 2], expires_at: null});
  const {send, shows} = await drawDashboard(t, {
    ...{screen: 'keys', columns: 140},
    answers: {
      'auth/api-keys': [made],
      domains: [
        {...domain, id: 1, name: 'one.test'},
        {...domain, id: 3, name: 'two.test'},
      ],
    },
  });

  const list = await shows('shop');
  send('\r');
  const page = await shows('Key 7');

  t.regex(list, /domain-admin for one\.test \+1/);
  t.regex(page, /Domains +one\.test, two\.test \(deleted\)/);
});

test('the only domain of a key is marked in the list when it was deleted', async t => {
  const made = key(7, 'shop', {scope: 'domain-admin', domain: 'one.test', domains: ['one.test'], domain_ids: [1]});
  const {shows} = await drawDashboard(t, {screen: 'keys', columns: 140, answers: {'auth/api-keys': [made], domains: []}});

  t.regex(await shows('shop'), /domain-admin +one\.test \(deleted\)/);
});

test('a revoked key has nothing to replace, and is not asked how long it is good', t => {
  const shell = createFakeShell();
  const app = {may: () => true};

  askToRotate({...shell, app} as unknown as Shell, key(4, 'gone', {revoked_at: at(-1)}));

  t.false(shell.isAnythingOpen());
  t.regex(shell.said.join(), /key 4 is revoked/);
});

const form = {name: 'a', scope: 'read-only', domains: '', rate_limit_per_minute: '600', expires_at: ''};

test('a form for a key is checked before the node is asked', async t => {
  const rules = await loadRules();
  const wrong = (changes: Partial<typeof form>) => Object.keys(checkKeyForm(rules, {...form, ...changes}, nowMs));

  t.deepEqual(wrong({}), []);
  t.deepEqual(wrong({name: ' '}), ['name']);
  t.deepEqual(wrong({scope: 'domain-admin'}), ['domains']);
  t.deepEqual(wrong({scope: 'domain-admin', domains: 'example.com'}), []);
  t.deepEqual(wrong({scope: 'domain-admin', domains: 'example.com, example.net example.org'}), []);
  t.deepEqual(wrong({scope: 'domain-admin', domains: Array.from({length: 101}, (_, n) => `d${n}.test`).join()}), ['domains']);
  t.deepEqual(wrong({domains: 'example.com'}), ['domains']);
  for (const limit of ['', '0', '1.5', '1000001', 'x'])
    t.deepEqual(wrong({rate_limit_per_minute: limit}), ['rate_limit_per_minute'], limit);
  for (const end of ['90d', '12h', '2027-01-31', '2027-01-31T00:00:00+01:00', '2027-01-31 18:30'])
    t.deepEqual(wrong({expires_at: end}), [], end);
  for (const end of ['soon', '2025-01-31', '-1d', '2027-13-31', '2027-01-31T25:00:00'])
    t.deepEqual(wrong({expires_at: end}), ['expires_at'], end);
});

test('a wrong end of a key is answered with every form that an end may have', async t => {
  const {expires_at = ''} = checkKeyForm(await loadRules(), {...form, expires_at: 'soon'}, nowMs);

  for (const end of ['90d', '2027-01-31', '2027-01-31T00:00:00Z']) t.regex(expires_at, new RegExp(`\\b${end}\\b`), end);
});
