import test from 'ava';
import {createNetworkSet} from '../../../../daemon/mail/networks.ts';
import {createBackendRules} from '../../../../daemon/services/domains/domains.ts';
import type {StoredNode} from '../../../../daemon/services/records.ts';

const node = (id: number, fields: Partial<StoredNode>): StoredNode => ({
  id,
  node_id: `node${id}`,
  fqdn: `mx${id}.example.com`,
  cluster_url: null,
  api_url: null,
  smtp_listen: null,
  created_at: '2026-01-01T00:00:00.000Z',
  ...fields,
});

const nodes = [
  node(1, {smtp_listen: '0.0.0.0:25', api_url: 'https://api1.example.com:8443'}),
  node(2, {smtp_listen: '192.0.2.2:2525', cluster_url: 'https://[2001:db8::2]:8444'}),
  node(3, {smtp_listen: '127.0.0.1:2626'}),
  node(4, {}),
];

const admin = {scope: 'full-admin'} as const;
const domainAdmin = {scope: 'domain-admin'} as const;

const rules = ({nodeNo = 1, networks}: {nodeNo?: number; networks?: string[]} = {}) =>
  createBackendRules({nodes: {list: () => nodes}, nodeNo, networks: () => networks && createNetworkSet(networks)});

const detailOf = (entry: string, nodeNo = 1): string | undefined => rules({nodeNo})(admin, [entry], [])[0]?.detail;

test('the SMTP listener of a member is no backend, by whichever of its names', t => {
  for (const [entry, member] of [
    ['MX1.example.com:25', 'node1'],
    ['api1.example.com:25', 'node1'],
    ['mx2.example.com:2525', 'node2'],
    ['192.0.2.2:2525', 'node2'],
    ['[::ffff:192.0.2.2]:2525', 'node2'],
    ['[2001:DB8:0::2]:2525', 'node2'],
    ['127.0.0.1:2626', 'node3'],
  ] as const)
    t.regex(detailOf(entry) ?? '', new RegExp(`^is the SMTP listener of ${member}, a node of this cluster`), entry);
  for (const entry of ['mx1.example.com:26', 'mx2.example.com:25', '192.0.2.3:2525', 'mx4.example.com:25', 'mail.example.com:25'])
    t.is(detailOf(entry), undefined, entry);
});

test('loopback and the address for all addresses mean the node that is asked, where it can be reached so', t => {
  for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '[::1]', '0.0.0.0', '[::]']) {
    t.regex(detailOf(`${host}:25`) ?? '', /^is the SMTP listener of node1/, host);
    t.is(detailOf(`${host}:25`, 4), undefined, host);
    // That node listens on one address of the machine; another server may use another address.
    t.is(detailOf(`${host}:2525`, 2), undefined, host);
    t.regex(detailOf(`${host}:2626`, 3) ?? '', /^is the SMTP listener of node3/, host);
  }
  t.is(detailOf('localhost:2626'), undefined);
});

test('every wrong entry is named; a list that stays as it is may stay so', t => {
  const wanted = ['mail.example.com:25', 'mx1.example.com:25', 'nonsense', '192.0.2.2:2525'];
  const check = rules();

  t.deepEqual(
    check(admin, wanted, []).map(({path}) => path),
    ['backend_servers.1', 'backend_servers.3'],
  );
  t.deepEqual(check(admin, wanted, wanted), []);
  t.is(check(admin, wanted.slice(0, 2), wanted).length, 1);
  for (const hostile of [undefined, null, 'mx1.example.com:25', {length: 1, 0: 'mx1.example.com:25'}, [null, 7, {}, ['x']]])
    t.deepEqual(check(admin, hostile, []), []);
});

test('a key for one domain sets addresses inside smtp.backend_networks only, and keeps what is there', t => {
  const check = rules({networks: ['10.0.0.0/8', '2001:db8:1::/48']});
  const details = (wanted: string[], current: string[] = []) => check(domainAdmin, wanted, current).map(({detail}) => detail);

  t.deepEqual(details(['10.1.2.3:25', '[2001:db8:1::5]:25', '[::ffff:10.1.2.3]:25']), []);
  t.regex(details(['192.0.2.9:25'])[0] ?? '', /^must be inside smtp\.backend_networks; ask an administrator/);
  t.regex(details(['mail.example.com:25'])[0] ?? '', /^must be an address: .* a host name can be pointed elsewhere later$/);
  t.is(details(['mail.example.com:25', '192.0.2.9:25'], ['mail.example.com:25']).length, 1);
  t.deepEqual(check({scope: 'full-admin'}, ['192.0.2.9:25', 'mail.example.com:25'], []), []);
  t.deepEqual(rules()(domainAdmin, ['192.0.2.9:25', 'mail.example.com:25'], []), []);
  t.is(rules({networks: []})(domainAdmin, ['10.1.2.3:25'], []).length, 1);
});
