import test from 'ava';
import fc from 'fast-check';
import type {RecipientAnswer} from '../../../../daemon/mail/backend/recipient-check.ts';
import {createRoutingTables, tableNames} from '../../../../daemon/mail/socketmap/routing-tables.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {domainDefaults} from '../../../../shared/field-rules.ts';
import {parseHostPort} from '../../../../shared/host-port.ts';
import {anyCharacter} from '../../../helpers/any-character.ts';

const domain = (name: string, more: Partial<Domain> = {}): Domain => ({
  id: 1,
  name,
  ...domainDefaults,
  backend_servers: ['192.0.2.1:25'],
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  ...more,
});

const domains = [
  domain('example.com'),
  domain('both.example', {direction: 'both', backend_servers: ['mx1.both.example:25', '[2001:db8::1]:2525', '192.0.2.7:26']}),
  domain('out.example', {direction: 'outbound', backend_servers: []}),
  domain('idle.example', {active: false}),
  domain('xn--bcher-kva.example'),
];

const create = ({verdict = 'known', isRemoved = false}: {verdict?: RecipientAnswer['verdict']; isRemoved?: boolean} = {}) => {
  const asked: string[] = [];
  const tables = createRoutingTables({
    domains: {findByName: name => domains.find(one => one.name === name)},
    routeTo: ({backend_servers}) => ({servers: backend_servers.flatMap(text => parseHostPort(text) ?? [])}),
    recipients: {
      async ask(_route, address) {
        asked.push(address);
        return {verdict, reason: '451 4.4.1 No mail server of this domain can be reached'};
      },
    },
    isForReports: address => address === 'dmarc@example.com',
    standstill: () => (isRemoved ? 'this node was removed' : undefined),
  });
  return {...tables, asked};
};

const absent = {kind: 'absent'};
const found = (value: string) => ({kind: 'found', value});

test('domains that take mail are relay domains, inactive ones too, by any spelling', t => {
  const {lookUp} = create();

  for (const [key, name] of [
    ['example.com', 'example.com'],
    ['Example.COM.', 'example.com'],
    ['both.example', 'both.example'],
    ['idle.example', 'idle.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
  ] as const)
    t.deepEqual(lookUp('relay_domains', key), found(name), key);
});

test('domains of others, subdomains, parents and senders are none', t => {
  const {lookUp} = create();

  for (const key of ['example.org', 'sub.example.com', '.example.com', 'com', 'out.example', '*', '', '[192.0.2.1]'])
    for (const table of ['relay_domains', 'transport_maps']) t.deepEqual(lookUp(table, key), absent, `${table} ${key}`);
});

test('mail goes to the servers of the domain, in order', t => {
  const {lookUp} = create();

  t.deepEqual(lookUp('transport_maps', 'Ben+x@Example.COM'), found('relay:[192.0.2.1]:25'));
  t.deepEqual(lookUp('transport_maps', '"a b@"@example.com'), found('relay:[192.0.2.1]:25'));
  t.deepEqual(lookUp('transport_maps', 'a b@example.com'), found('relay:[192.0.2.1]:25'));
  t.deepEqual(
    lookUp('transport_maps', 'ben@both.example'),
    found('relay:[mx1.both.example]:25, [2001:db8::1]:2525, [192.0.2.7]:26'),
  );
});

test('mail to an inactive domain has to wait', t => {
  t.deepEqual(
    create().lookUp('transport_maps', 'ben@idle.example'),
    found('retry:4.7.1 Mail of this domain is not taken at present'),
  );
});

test('a recipient is there when the server says so, and nothing is known while it says nothing', async t => {
  t.deepEqual(await create().lookUp('relay_recipient_maps', 'Ben@EXAMPLE.com'), found('example.com'));
  t.deepEqual(await create({verdict: 'unknown'}).lookUp('relay_recipient_maps', 'ben@example.com'), absent);
  t.like(await create({verdict: 'unclear'}).lookUp('relay_recipient_maps', 'ben@example.com'), {kind: 'unavailable'});
});

test('a server is asked about odd addresses as they are written', async t => {
  const {lookUp, asked} = create();
  const keys = ['a..b@example.com', 'ab.@example.com', '"odd user"@example.com'];

  for (const key of keys) t.deepEqual(await lookUp('relay_recipient_maps', key), found('example.com'), key);
  t.deepEqual(asked, keys);
});

test('an address for reports is a recipient that no server has to know', async t => {
  const tables = create({verdict: 'unknown'});

  t.deepEqual(await tables.lookUp('relay_recipient_maps', 'dmarc@example.com'), found('example.com'));
  t.deepEqual(tables.asked, []);
});

test('no server is asked about what is no address of ours', async t => {
  const {lookUp, asked} = create();

  for (const key of [
    '@example.com',
    'example.com',
    '*',
    'a b@example.com',
    'ben@example.org',
    'ben@sub.example.com',
    '\ufffd@example.com',
  ])
    t.deepEqual(await lookUp('relay_recipient_maps', key), absent, key);
  t.deepEqual(asked, []);
  await lookUp('relay_recipient_maps', 'Ben@EXAMPLE.com');
  t.deepEqual(asked, ['Ben@example.com']);
});

test('an address of ours that cannot be parsed is of a relay domain, has a server, and is no recipient', async t => {
  const {lookUp, asked} = create();

  for (const local of ['"ben+<"', 'ben+<', 'x'.repeat(260), 'a b', '', '\ufffd', '<@a.test:x', 'a@b']) {
    const key = `${local}@example.com`;
    t.deepEqual(lookUp('relay_domains', key), found('example.com'), key);
    t.deepEqual(lookUp('transport_maps', key), found('relay:[192.0.2.1]:25'), key);
    t.deepEqual(await lookUp('relay_recipient_maps', key), absent, key);
  }
  t.deepEqual(asked, []);
});

test('no server is asked about a local part that it might obey', async t => {
  const {lookUp, asked} = create();

  for (const local of ['a%b.test', 'b.test!a', '"a@b.test"', '"a\\%b"', '|prog', '"\\|prog"', '/file'])
    t.deepEqual(await lookUp('relay_recipient_maps', `${local}@example.com`), absent, local);
  t.deepEqual(asked, []);
});

test('a node that was removed says nothing of any table, least of all that something is not there', t => {
  const {lookUp} = create({isRemoved: true});

  for (const table of tableNames)
    for (const key of ['example.com', 'ben@example.com', 'example.org', '*'])
      t.deepEqual(lookUp(table, key), {kind: 'unavailable', reason: 'this node was removed'});
});

test('another table does not exist', t => {
  for (const table of ['', 'relay', 'constructor', 'toString']) t.like(create().lookUp(table, 'example.com'), {kind: 'refused'});
});

test('no key can make a lookup fail', async t => {
  const {lookUp} = create();
  const keys = fc.oneof(
    fc.string({unit: anyCharacter, maxLength: 200}),
    fc.uint8Array({maxLength: 200}).map(bytes => Buffer.from(bytes).toString()),
    fc.string({unit: anyCharacter, maxLength: 60}).map(local => `${local}@example.com`),
    fc.constantFrom('x'.repeat(100_000), `${'x'.repeat(99_000)}@example.com`, `a@${'b.'.repeat(50_000)}com`, '@'.repeat(100_000)),
  );

  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...tableNames), keys, async (table, key) => {
      const answer = await lookUp(table, key);
      t.true(answer.kind === 'found' || answer.kind === 'absent');
      // Postfix gets configured values only: nothing of the key appears in the answer.
      if (answer.kind === 'found') t.regex(answer.value, /^(relay:\[192\.0\.2\.1\]:25|example\.com)$/);
    }),
  );
});
