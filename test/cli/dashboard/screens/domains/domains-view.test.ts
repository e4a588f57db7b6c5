import test from 'ava';
import fc from 'fast-check';
import {loadRules} from '../../../../../cli/command-line/rules.ts';
import {initialList, shownRows} from '../../../../../cli/dashboard/list/list.ts';
import {
  domainParts,
  filterPage,
  filtersForAll,
  type WholeDomain,
} from '../../../../../cli/dashboard/screens/domains/domain-parts.ts';
import {
  changesOf,
  diffLines,
  newSettings,
  typedSettings,
  valuesOf,
} from '../../../../../cli/dashboard/screens/domains/domain-settings.ts';
import {recordLines, zoneBlock} from '../../../../../cli/dashboard/screens/domains/domain-view.tsx';
import {
  type DomainsEvent,
  type DomainsView,
  domainRows,
  domainsList,
  domainsReducer,
  initialView,
} from '../../../../../cli/dashboard/screens/domains/domains-list.ts';
import {typedFilter} from '../../../../../cli/dashboard/screens/domains/part-actions.ts';
import {sourcesList} from '../../../../../cli/dashboard/screens/domains/sources-view.tsx';
import {byField} from '../../../../../cli/dashboard/shell/asking.ts';
import {copyToClipboard} from '../../../../../cli/dashboard/shell/clipboard.ts';
import type {FormValues} from '../../../../../cli/dashboard/shell/modal.ts';
import {whyNot} from '../../../../../cli/dashboard/shell/shell.ts';
import {differences} from '../../../../../cli/domain/domain-fields.ts';
import {CliError} from '../../../../../cli/errors.ts';
import type {DkimKey} from '../../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../../shared/domain.ts';
import type {GlobalFilter, MailFilter} from '../../../../../shared/mail-filter.ts';
import {permissionsOf, type Scope} from '../../../../../shared/scopes.ts';
import {reportedSources} from '../../../../helpers/cli/sample-answers.ts';
import {domain, hostile, key} from '../../../../helpers/cli/sample-records.ts';
import {drawnList, fits, plainTheme, sizes} from '../../../../helpers/dashboard/drawn.ts';

const named = (id: number, name: string, change: Partial<Domain> = {}): Domain => ({...domain, id, name, ...change});
const domains = [named(1, 'b.example'), named(2, 'a.example', {active: false}), named(3, 'c.example', {tenant_id: 7})];
const held = new Map([
  ['c.example', 12],
  ['b.example', 3],
]);

const dkimKey: DkimKey = {
  id: 9,
  domain_id: domain.id,
  selector: 'mfd2026',
  algorithm: 'rsa-2048',
  dns_name: 'mfd2026._domainkey.example.com',
  dns_record: `v=DKIM1; k=rsa; p=${'MIIB'.repeat(98)}`,
  created_at: domain.created_at,
};
const filter: MailFilter = {
  id: 4,
  domain_id: domain.id,
  action: 'score',
  match: 'header',
  header: 'List-Id',
  pattern: '*news*',
  score: 3,
  comment: null,
  authenticated: false,
  created_at: domain.created_at,
};

test('what is typed in a form reaches the rules of the node as it is, right or wrong', async t => {
  const {newDomain, newFilter} = await loadRules();
  const faultsOf = (values: FormValues) =>
    byField(newDomain({name: 'a.example', ...typedSettings({...valuesOf(newSettings), ...values})}).faults);

  t.deepEqual(faultsOf({backend_servers: 'mx:25, [::1]:25', tenant_id: ' 7 '}), {});
  t.deepEqual(faultsOf({direction: 'outbound', quarantine_threshold: '', reject_threshold: 'six'}), {
    quarantine_threshold: 'must be a number',
    reject_threshold: 'must be a number',
  });
  t.like(faultsOf({backend_servers: 'mx:25 mx:0'}), {
    backend_servers: /must be host:port/.exec(faultsOf({backend_servers: 'x'}).backend_servers ?? '')?.input,
  });
  t.regex(faultsOf({backend_servers: ''}).backend_servers ?? '', /needs at least one/);
  t.regex(faultsOf({backend_servers: 'mx:25', quarantine_threshold: '16'}).quarantine_threshold ?? '', /must not be above/);

  const ofFilter = (values: FormValues) =>
    byField(newFilter(typedFilter({action: 'block', match: 'sender', pattern: 'a@b.example', ...values})).faults);
  t.deepEqual(ofFilter({}), {});
  t.deepEqual(ofFilter({action: 'score', score: 'x', pattern: ''}), {score: 'must be a number', pattern: 'must not be empty'});
  t.deepEqual(Object.keys(ofFilter({score: '3', header: 'List-Id'})), ['header', 'score']);
});

test('a filter that lets mail in says whether its sender has to be verified, and no other one does', t => {
  const typed = {match: 'sender', pattern: 'a@b.example'};

  t.is(typedFilter({...typed, action: 'allow'}).authenticated, true);
  t.is(typedFilter({...typed, action: 'allow', authenticated: 'no'}).authenticated, false);
  t.is(typedFilter({...typed, action: 'score', score: '-3', authenticated: 'no'}).authenticated, false);
  t.false(Object.hasOwn(typedFilter({...typed, action: 'block', authenticated: 'yes'}), 'authenticated'));
});

test('a form that nothing was typed in changes nothing, whatever the settings are', t => {
  const odd = {...domain, tenant_id: '42', quarantine_threshold: 6.25, backend_servers: ['a:1', 'b:2']};

  t.deepEqual(changesOf(odd, valuesOf(odd)), {});
  t.deepEqual(changesOf(odd, {...valuesOf(odd), tenant_id: '', backend_servers: 'b:2 a:1'}), {
    backend_servers: ['b:2', 'a:1'],
    tenant_id: null,
  });
});

test('a difference has a line for each setting, and says when there is none', t => {
  const other = {...domain, tenant_id: 7, dkim_active: true, backend_servers: []};

  t.deepEqual(diffLines(domain, differences(domain, other)), [
    'backend_servers  mail.example.com:25, [2001:db8::1]:25 → none',
    'dkim_active      no → yes',
    'tenant_id        none → 7',
  ]);
});

const listOf = (some: Domain[], change: Partial<Parameters<typeof domainsList>[0]> = {}) =>
  domainsList({
    rows: domainRows(some, held),
    loaded: {failure: undefined, loadedAtMs: 0},
    unreachable: [],
    mayCreate: true,
    theme: plainTheme,
    ...change,
  });

test('domains are found by words and by what they are, and sorted', t => {
  const ids = (filterText: string, order = 0) => shownRows(listOf(domains), {filter: filterText, order}).map(({id}) => id);

  t.deepEqual(ids(''), [2, 1, 3]);
  t.deepEqual(
    ids(
      '',
      listOf(domains).orders?.findIndex(({name}) => name === 'held mail'),
    ),
    [3, 1, 2],
  );
  t.deepEqual(ids('is:inactive'), [2]);
  t.deepEqual(ids('EXAMPLE tenant:7'), [3]);
});

test('where there is room, what is set for the domain under the cursor stands beside the list', t => {
  t.regex(drawnList(listOf(domains), initialList, {columns: 160, rows: 30}), /│ Quarantine at +6/);
  t.notRegex(drawnList(listOf(domains), initialList, {columns: 140, rows: 30}), /Quarantine at/);
});

const partsOf = (whole: WholeDomain, change: Partial<Parameters<typeof domainParts>[0]> = {}) =>
  domainParts({
    name: whole.domain.name,
    loaded: {value: whole, failure: undefined, loadedAtMs: 0},
    held: 3,
    panel: [],
    unreachable: [],
    theme: plainTheme,
    ...change,
  });

test('back leads from the record to the domain to the list, and a deleted domain is left', t => {
  const opened: DomainsEvent[] = [
    {kind: 'opened', id: 1, name: 'b.example'},
    {kind: 'record-opened', selector: 's'},
  ];
  const record = opened.reduce<DomainsView>(domainsReducer, initialView);

  const back = domainsReducer(record, {kind: 'back'});

  t.deepEqual(back, {kind: 'domain', id: 1, name: 'b.example'});
  t.is(domainsReducer(back, {kind: 'back'}).kind, 'list');
  t.is(domainsReducer(record, {kind: 'gone', id: 1}).kind, 'list');
  t.is(domainsReducer(record, {kind: 'gone', id: 2}), record);
});

test('hostile domains, filters and keys fit the screen at every size', t => {
  const bad = named(1, hostile.repeat(5), {
    backend_servers: [hostile, '東京:25'],
    tenant_id: hostile,
    updated_at: hostile,
    dkim_active: true,
  });
  const badFilter = {...filter, pattern: hostile.repeat(9), comment: '東京'.repeat(80), header: hostile};
  const badKey = {...dkimKey, selector: hostile, dns_name: hostile, dns_record: hostile.repeat(30)};
  const filters = Array.from({length: 60}, (_, at) => ({...badFilter, id: at}));
  const whole = {domain: bad, filters, keys: [badKey]};
  const failure = new CliError('unreachable', hostile.repeat(3));
  const list = listOf([bad, ...domains], {loaded: {failure, loadedAtMs: 0}, unreachable: [hostile]});

  for (const size of sizes) {
    for (const filterText of ['', hostile])
      fits(t, drawnList(list, {...initialList, filter: filterText}, size).split('\n'), size);
    for (const cursor of [0, 30, 60]) {
      const state = {...initialList, position: {cursor, top: 0}};
      const panel = [['Reported', hostile.repeat(9)] as const, [hostile, '東京'.repeat(80)] as const];
      fits(t, drawnList(partsOf(whole, {unreachable: [hostile], panel}), state, size).split('\n'), size);
    }
    fits(t, drawnList(partsOf({...whole, keys: [], filters: []}), initialList, size).split('\n'), size);
    fits(t, drawnList(partsOf(whole, {loaded: {value: undefined, failure, loadedAtMs: 0}}), initialList, size).split('\n'), size);
    fits(t, recordLines(badKey, bad.name, {size, theme: plainTheme}), size);
    fits(t, filterPage(badFilter, plainTheme).lines(size.columns), {...size, rows: 1000});
  }
});

test('filters and keys are distinguished, and the settings stand above or beside them', t => {
  for (const [columns, place] of [
    [80, /Quarantine at +6[\s\S]*WHAT/],
    [160, /WHAT[\s\S]*│ Quarantine at +6/],
  ] as const) {
    const text = drawnList(partsOf({domain, filters: [filter], keys: [dkimKey]}), initialList, {columns, rows: 24});

    t.regex(text, /^example\.com · Mail filters \(1\) · DKIM keys \(1\)/);
    t.regex(text, place);
    t.regex(text, /^± \+3 +header List-Id +\*news\* /m);
    t.regex(text, /^DKIM key +rsa-2048 +mfd2026\._domainkey/m);
  }
});

test('the filters for all domains have the columns of filters, and say whether they admit forged senders', t => {
  const drawn = (value: GlobalFilter[]) =>
    drawnList(filtersForAll({value, failure: undefined, loadedAtMs: 0}), initialList, {columns: 100, rows: 24});
  const {domain_id: _, ...global} = filter;
  const text = drawn([global, {...global, id: 5, action: 'allow', match: 'sender_domain', header: null, pattern: 'a.example'}]);

  t.regex(text, /^Mail filters for all domains · 2/);
  t.regex(text, /^ACTION +MATCH +PATTERN +FROM +COMMENT +CREATED/m);
  t.regex(text, /^± \+3 +header List-Id +\*news\* +- /m);
  t.regex(text, /^✓ allow +sender domain +a\.example +anybody /m);
  t.regex(drawn([]), /No mail filters for all domains: f makes one/);
});

test('the view of filters for all domains is opened from the list and left by back', t => {
  const opened = domainsReducer(initialView, {kind: 'filters-opened'});

  t.is(domainsReducer(opened, {kind: 'record-opened', selector: 's'}), opened);
  t.is(domainsReducer(opened, {kind: 'gone', id: 1}), opened);
  t.is(domainsReducer(opened, {kind: 'back'}).kind, 'list');
});

test('the sources of mail from a domain are those of reports, with what passes and who says so', t => {
  const drawn = (value: typeof reportedSources, order = 0) =>
    drawnList(
      sourcesList('example.com', {value: {reported: value, unreachableNodes: ['mx2']}, failure: undefined, loadedAtMs: 0}, true),
      {...initialList, order},
      {columns: 120, rows: 24},
    );
  const text = drawn(reportedSources);

  t.regex(text, /^example\.com · 1,000 mails in 28 verified reports, 97 % pass DMARC/);
  t.regex(text, /^! mx2 did not answer: reports received there are missing/m);
  t.regex(text, /^SOURCE +NAME +NETWORK +MAILS +PASS +SPF +DKIM +REPORTED BY/m);
  t.regex(
    text,
    /^192\.0\.2\.5 +mx1\.example\.com +192\.0\.2\.0\/24 +970 +100 % +100 % +92 % +google\.example, mail\.example \(not v/m,
  );
  t.regex(text, /^2001:db8::7 +- +2001:db8:0:0::\/64 +30 +0 % +0 % +0 % +google\.example/m);
  t.regex(drawn(reportedSources, 1), /2001:db8::7[\s\S]*192\.0\.2\.5/);
  t.regex(drawn({...reportedSources, count: 0, sources: [], source_count: 0}), /Nothing in 30 days from verified reports/);
  t.regex(drawn({...reportedSources, source_count: 1002}), /and 1,000 more with fewer mails/);
});

test('hostile names in reports stay within the screen of sources', t => {
  const sources = reportedSources.sources.map(source => ({...source, source_ip: hostile, name: hostile, network: hostile}));
  const value = {reported: {...reportedSources, sources}, unreachableNodes: []};
  for (const size of sizes)
    fits(
      t,
      drawnList(sourcesList(hostile, {value, failure: undefined, loadedAtMs: 0}, true), initialList, size).split('\n'),
      size,
    );
});

test('the sources are opened from their domain, and left by back to it', t => {
  const opened = domainsReducer({kind: 'domain', id: 1, name: 'a.example'}, {kind: 'sources-opened'});

  t.deepEqual(opened, {kind: 'sources', id: 1, name: 'a.example'});
  t.is(domainsReducer(initialView, {kind: 'sources-opened'}), initialView);
  t.is(domainsReducer(opened, {kind: 'back'}).kind, 'domain');
  t.is(domainsReducer(opened, {kind: 'gone', id: 1}).kind, 'list');
});

test('what is known of the authentication stands below the settings, above or beside the parts', t => {
  const panel = [
    ['Received', '1,250 mails in 30 days'],
    ['Reported', '1,000 mails in 28 reports'],
  ] as const;
  for (const [columns, place] of [
    [80, /Quarantine at +6[\s\S]*\nReported +1,000 mails in 28 reports[\s\S]*WHAT/],
    [160, /WHAT[\s\S]*│ Updated[\s\S]*│ Reported +1,000 mails in 28 reports/],
  ] as const)
    t.regex(drawnList(partsOf({domain, filters: [], keys: []}, {panel}), initialList, {columns, rows: 24}), place);
});

test('a domain that is to sign and has no key is warned of, and one that is gone is said to be', t => {
  const shown = (keys: DkimKey[], change = {}) =>
    drawnList(partsOf({domain: {...domain, dkim_active: true}, filters: [], keys}, change), initialList);
  const failure = new CliError('not_found', 'there is no such domain');

  t.regex(shown([]), /! DKIM is on and there is no key/);
  t.notRegex(shown([dkimKey]), /there is no key/);
  t.regex(shown([], {loaded: {value: undefined, failure, loadedAtMs: 0}}), /✗ example\.com is gone/);
});

test('the record on several lines is the record, at any width', t => {
  fc.assert(
    fc.property(fc.integer({min: 40, max: 400}), fc.stringMatching(/^[ -~]{0,600}$/), (width, dns_record) => {
      const block = zoneBlock({dns_name: 'x._domainkey.example.com', dns_record}, width);

      const strings = block.slice(1, -1).map(line => /^ {2}"(.*)"$/.exec(line)?.[1] ?? '');
      t.is(strings.map(text => text.replace(/\\(.)/g, '$1')).join(''), dns_record);
      t.true(strings.every(text => text.length <= 255 && text.length + 4 <= width));
      t.is(block[0], 'x._domainkey.example.com. IN TXT (');
      t.is(block.at(-1), ')');
    }),
  );
});

test('what is copied reaches the terminal as base64 only, without what cannot be seen', t => {
  let written = '';
  const stdout = {write: (text: string) => (written += text)};

  t.true(copyToClipboard(stdout, hostile));

  const [, encoded = ''] = /^\x1b\]52;c;([A-Za-z0-9+/=]*)\x07$/.exec(written) ?? [];
  t.notRegex(Buffer.from(encoded, 'base64').toString(), /[\x00-\x1f\x7f-\x9f\u202e\u200b]/);
  t.false(copyToClipboard(stdout, 'x'.repeat(100_000)));
});

test('a key that may not change something gets the reason', t => {
  const app = (scope: Scope, isReadOnly = false) => {
    const granted = permissionsOf(scope, {kind: 'all'});
    return {
      me: {...key, name: 'ops', scope, node_id: 'mx1', permissions: [...granted]},
      isReadOnly,
      may: (permission: (typeof granted)[number]) => granted.includes(permission) && !isReadOnly,
    };
  };

  t.is(whyNot(app('full-admin'), 'domains:write'), undefined);
  t.regex(whyNot(app('read-only'), 'domains:write') ?? '', /this read-only key may not .* domain-admin or full-admin key/);
  t.regex(whyNot(app('full-admin', true), 'domains:write') ?? '', /--read-only/);
});
