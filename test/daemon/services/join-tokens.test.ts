import test, {type ExecutionContext} from 'ava';
import {type AskablePeer, createAuthorities} from '../../../daemon/services/authority.ts';
import {createDomainDirectory} from '../../../daemon/services/domain-directory.ts';
import {createJoinTokens} from '../../../daemon/services/join-tokens.ts';
import {createJoining} from '../../../daemon/services/joining.ts';
import {createKeyDirectory} from '../../../daemon/services/key-directory.ts';
import {insertKey} from '../../../daemon/services/keys.ts';
import {createNodeDirectory} from '../../../daemon/services/node-directory.ts';
import {ownNames} from '../../../daemon/services/own-names.ts';
import {createPeerActors} from '../../../daemon/services/peer-actors.ts';
import {Fault} from '../../../shared/fault.ts';
import type {Scope} from '../../../shared/scopes.ts';
import {testConfiguration, testDatabase} from '../../helpers/database.ts';

const actor = {keyId: 7, scope: 'full-admin', reach: {kind: 'all'}, remoteAddress: '192.0.2.1'} as const;
const joiner = {
  node_id: 'delta',
  fqdn: 'delta.test',
  cluster_url: 'https://delta.test:8444',
  api_url: 'https://delta.test:8443',
  version: '1',
  node_csr: '',
  api_csr: '',
  api_hosts: ['delta.test'],
};

/** Node `nodeNo` of alpha, beta and gamma (1, 2, 3), with the CA key on those named; the others answer as `answers` says. */
const arrange = async (
  t: ExecutionContext,
  {nodeNo, holders, answers = {}}: {nodeNo: number; holders: number[]; answers?: Record<number, () => unknown>},
) => {
  const {database} = await testDatabase(t, {isDurable: false});
  const configuration = testConfiguration(database, {nodeNo});
  const directory = await createNodeDirectory(database, configuration);
  await configuration.change(async draft => {
    for (const [n, node_id] of ['alpha', 'beta', 'gamma'].entries())
      await draft.create('node', n + 1, {
        node_id,
        fqdn: `${node_id}.test`,
        cluster_url: `https://${node_id}.test:8444`,
        api_url: null,
        created_at: draft.at,
      });
  });
  const asked: string[] = [];
  const peers = [1, 2, 3]
    .filter(no => no !== nodeNo)
    .map(no => ({
      nodeNo: no,
      nodeId: directory.findByNo(no)?.node_id ?? '',
      client: {
        async ask(_schema: unknown, {path}: {path: string}) {
          asked.push(`${no} ${path}`);
          return answers[no]?.();
        },
      },
    })) as unknown as AskablePeer[];
  const authority = {
    fingerprint: 'sha256:0',
    issueToken: async ({id}: {id: string}) => `ours ${id}`,
    certify: async () => ({node_cert: 'node', api_cert: 'api'}),
  };
  const authorities = createAuthorities({
    own: async () => (holders.includes(nodeNo) ? authority : undefined),
    directory,
    peerStates: {latest: no => ({has_authority: holders.includes(no)}) as never},
    peers: () => peers,
    nodeNo,
  });
  const needs = {configuration, authorities, directory, nodeNo, now: Date.now};
  const actors = createPeerActors({
    database,
    keys: await createKeyDirectory(database, configuration),
    domains: await createDomainDirectory(database, configuration),
    now: Date.now,
  });
  return {
    asked,
    configuration,
    directory,
    authorities,
    tokens: createJoinTokens({...needs, actors, isOurs: token => token.startsWith('ours')}),
    joining: createJoining(needs),
  };
};

const told = (key_id: number, scope: Scope = 'full-admin') => ({
  key_id,
  scope,
  reach: {kind: 'all'},
  remote_address: '192.0.2.1',
});

const faultOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    error => (error instanceof Fault ? `${error.code}: ${error.detail}` : String(error)),
  );

test('of several nodes with the CA key only the first one gives out tokens and numbers', async t => {
  const created = {token: 'ours 1', expires_at: '2026-03-01T10:30:00.000Z', address: 'alpha.test:8444', ca_fingerprint: 'x'};
  const beta = await arrange(t, {nodeNo: 2, holders: [1, 2], answers: {1: () => created}});

  const passed = await beta.tokens.create(actor, {});
  const asPeer = await faultOf(beta.tokens.createFor({nodeId: 'gamma'}, {expires_in_s: 60, actor: told(1)}));
  const joined = await faultOf(beta.joining.admit({tokenId: 'x', remoteAddress: null}, joiner));

  t.deepEqual(passed, created);
  t.deepEqual(beta.asked, ['1 tokens']);
  t.regex(asPeer, /^unavailable: only node alpha/);
  t.regex(joined, /^unavailable: another node lets nodes in now/);
});

test('a node makes a token for a peer only in the name of a key that it knows to be good for that', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const make = async (name: string, scope: Scope) =>
    alpha.configuration.change(async draft =>
      insertKey(draft, {keyId: null, remoteAddress: null}, {name, scope, rate_limit_per_minute: 60}, undefined),
    );
  const [good, revoked, deleted, weak] = [
    await make('good', 'full-admin'),
    await make('revoked', 'full-admin'),
    await make('deleted', 'full-admin'),
    await make('weak', 'quarantine-only'),
  ];
  await alpha.configuration.change(async draft => {
    await draft.update('api_key', revoked.id, {revoked_at: draft.at});
    await draft.remove('api_key', deleted.id);
  });
  const ask = async (key_id: number) => alpha.tokens.createFor({nodeId: 'beta'}, {expires_in_s: 60, actor: told(key_id)});

  const {token} = await ask(good.id);

  t.regex(token, /^ours /);
  t.regex(await faultOf(ask(revoked.id)), /^key_revoked/);
  t.regex(await faultOf(ask(deleted.id)), /^key_invalid/);
  t.regex(await faultOf(ask(weak.id)), /^insufficient_scope/);
  t.regex(await faultOf(ask(424_242)), /^unavailable: .* has not heard of the API key/);
});

test('a token that a peer has made for another cluster is not passed on', async t => {
  const answer = {token: 'theirs', expires_at: '2026-03-01T10:30:00.000Z', address: 'evil.test:1', ca_fingerprint: 'x'};
  const beta = await arrange(t, {nodeNo: 2, holders: [1], answers: {1: () => answer}});

  t.is(await faultOf(beta.tokens.create(actor, {})), 'Error: the token that node alpha has made is not for this cluster');
});

test('a number is given once, also after its node has gone, and a token works once', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const idOf = async () => (await alpha.tokens.create(actor, {})).token.slice(5);
  const [first, second] = [await idOf(), await idOf()];
  const admit = async (tokenId: string, node_id: string) =>
    alpha.joining.admit({tokenId, remoteAddress: null}, {...joiner, node_id});

  const delta = await admit(first, 'delta');
  const again = await faultOf(admit(first, 'epsilon'));
  const taken = await faultOf(admit(second, 'gamma'));
  const epsilon = await admit(second, 'epsilon');

  t.is(delta.node_no, 4);
  t.regex(again, /^conflict: .* was used at/);
  t.regex(taken, /^conflict: .*already; remove it first/);
  t.is(epsilon.node_no, 5);
  t.deepEqual(
    alpha.directory.list().map(({node_id}) => node_id),
    ['alpha', 'beta', 'gamma', 'delta', 'epsilon'],
  );
});

test('certificates are asked of the next node that has the key when one gives none', async t => {
  const given = {node_cert: 'node', api_cert: 'api'};
  const away = () => {
    throw new Fault('node_unreachable', 'away');
  };
  const requests = {node_csr: '', api_csr: '', api_hosts: ['gamma.test']};
  const gamma = await arrange(t, {nodeNo: 3, holders: [1, 2], answers: {1: away, 2: () => given}});
  const alone = await arrange(t, {nodeNo: 3, holders: [1], answers: {1: away}});

  t.deepEqual(await gamma.authorities.askForCertificates(requests), given);
  t.deepEqual(gamma.asked, ['1 certificates', '2 certificates']);
  t.is(
    await faultOf(alone.authorities.askForCertificates(requests)),
    'unavailable: certificates cannot be renewed: alpha does not answer or gives none',
  );
});

test('the name of another node is in no certificate, unless both are on one machine', t => {
  const nodes = [
    {node_id: 'alpha', fqdn: 'mx1.test'},
    {node_id: 'beta', fqdn: 'mx2.test'},
    {node_id: 'gamma', fqdn: 'localhost'},
  ];
  const hosts = ['mx2.test', 'MX1.test', 'localhost', '127.0.0.1', '192.0.2.1'];

  t.deepEqual(ownNames(nodes, {node_id: 'beta', fqdn: 'mx2.test'}, hosts), ['mx2.test', 'localhost', '127.0.0.1', '192.0.2.1']);
  t.deepEqual(ownNames(nodes, {node_id: 'delta', fqdn: 'mx1.test'}, ['mx1.test', 'mx2.test']), ['mx1.test']);
});
