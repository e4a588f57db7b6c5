import test, {type ExecutionContext} from 'ava';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {permissionsOf, type Scope} from '../../../shared/scopes.ts';
import {clusterStatus, domain, key, mail, peer} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

const nothing = {count: 0, size_bytes: 0, oldest_arrived_at: null, groups: []};

/** It holds nothing, protects example.com and is mx1. */
const arrange = async (t: ExecutionContext, scope: Scope, held: HeldMail[] = [], headers: Record<string, string> = {}) =>
  startApi(t, {
    'GET /auth/me': {data: {...key, scope, permissions: permissionsOf(scope, {kind: 'all'}), node_id: 'mx1'}},
    'GET /domains': {data: [domain]},
    'GET /cluster/status': {data: clusterStatus([peer('mx1')])},
    'GET /mail/quarantine': {data: held, headers: {...headers, 'x-total-count': String(held.length)}},
    'GET /mail/quarantine/summary': {data: nothing, headers},
    'GET /events': {status: 404, error: {code: 'not_found', detail: 'no events'}},
  });

const commands = [
  ['quarantine', 'list'],
  ['quarantine', 'list', '--all'],
  ['quarantine', 'list', '--all', '--sort', 'score'],
  ['quarantine', 'summary'],
  ['quarantine', 'release', '--all-matching', '--yes'],
  ['quarantine', 'discard', '--all-matching', '--dry-run'],
];

for (const command of commands) {
  const name = command.join(' ');
  test(`${name} warns of a domain that does not exist, and is done`, async t => {
    const api = await arrange(t, 'full-admin');

    const {code, stderr} = await api.mfctl([...command, '--domain', 'exmaple.com']);
    const right = await api.mfctl([...command, '--domain', 'EXAMPLE.com']);

    t.is(code, 0, stderr);
    t.regex(stderr, /^warning: there is no domain exmaple\.com; mfctl domain list shows the domains$/m);
    t.notRegex(right.stderr, /there is no domain/);
  });

  test(`${name} fails for a node that does not exist`, async t => {
    const api = await arrange(t, 'read-only');

    const {code, stderr} = await api.mfctl([...command, '--node', 'mx9']);
    const right = await api.mfctl([...command, '--node', 'mx1']);

    t.is(code, 5, stderr);
    t.is(stderr, 'error: there is no node mx9 (unknown_node)\nhint: mfctl cluster status\n');
    t.is(right.code, 0, right.stderr);
  });

  test(`${name} does not say that a silent node holds nothing`, async t => {
    const api = await arrange(t, 'full-admin', [], {'x-unreachable-nodes': 'mx1'});

    const {code, stderr} = await api.mfctl([...command, '--node', 'mx1']);

    t.is(code, 0, stderr);
    t.regex(stderr, /^what mx1 holds is not known$/m);
    t.notRegex(stderr, /no held mail/);
  });
}

test('quarantine watch looks at what is named before it waits', async t => {
  const api = await arrange(t, 'full-admin', [mail]);
  const watch = async (...filter: string[]) => api.mfctl(['quarantine', 'watch', '--last', '1', '--limit', '1', ...filter]);

  const domain = await watch('--domain', 'exmaple.com');
  const node = await watch('--node', 'mx9');
  const right = await watch('--domain', 'example.com', '--node', 'mx1');

  t.deepEqual([domain.code, node.code, right.code], [0, 5, 0]);
  t.regex(domain.stderr, /^warning: there is no domain exmaple\.com/);
  t.regex(node.stderr, /^error: there is no node mx9/);
  t.is(right.stderr, '');
});

test('a key that does not see all there is gets no warning', async t => {
  for (const scope of ['quarantine-only', 'domain-admin'] as const) {
    const api = await arrange(t, scope);

    const {code, stderr} = await api.mfctl(['quarantine', 'list', '--domain', 'exmaple.com', '--node', 'mx9']);

    t.is(code, 0);
    t.is(stderr, 'no held mail\n');
    t.deepEqual(
      api.requests.map(({path}) => path),
      ['/mail/quarantine', '/auth/me'],
    );
  }
});

test('nothing more is asked where something matches, or where nothing is named', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail]}});
  const empty = await arrange(t, 'full-admin');

  await api.mfctl(['quarantine', 'list', '--domain', 'exmaple.com', '--node', 'mx9']);
  await empty.mfctl(['quarantine', 'list', '--reason', 'spam']);

  t.deepEqual([api.requests.length, empty.requests.length], [1, 1]);
});

test('what cannot be looked up changes nothing', async t => {
  const api = await startApi(t, {
    'GET /auth/me': {status: 503, error: {code: 'unavailable', detail: 'busy'}},
    'GET /mail/quarantine': {data: []},
  });

  t.like(await api.mfctl(['quarantine', 'list', '--node', 'mx9']), {code: 0, stderr: 'no held mail\n'});
});
