import test, {type ExecutionContext} from 'ava';
import {createKeyDirectory} from '../../../../daemon/services/access/key-directory.ts';
import {insertKey} from '../../../../daemon/services/access/keys.ts';
import {type AskablePeer, createAuthorities} from '../../../../daemon/services/cluster/authority.ts';
import {createIssuedNames, describedNames, ownNames} from '../../../../daemon/services/cluster/certificate-names.ts';
import {joinRequestSchema} from '../../../../daemon/services/cluster/join-protocol.ts';
import {createJoinTokens} from '../../../../daemon/services/cluster/join-tokens.ts';
import {createColocatedNodes, createJoining} from '../../../../daemon/services/cluster/joining.ts';
import {createNodeDirectory} from '../../../../daemon/services/cluster/membership.ts';
import {createDomainDirectory} from '../../../../daemon/services/domains/domain-directory.ts';
import {createPeerActors} from '../../../../daemon/services/peers/peer-actors.ts';
import type {StoredNode} from '../../../../daemon/services/records.ts';
import {Fault} from '../../../../shared/fault.ts';
import type {Scope} from '../../../../shared/scopes.ts';
import {testConfiguration, testStore} from '../../../helpers/store.ts';

const actor = {keyId: 7, scope: 'full-admin', reach: {kind: 'all'}, remoteAddress: '192.0.2.1'} as const;
const joiner = {
  node_id: 'delta',
  fqdn: 'delta.test',
  cluster_url: 'https://delta.test:8444',
  api_url: 'https://delta.test:8443',
  version: '1',
  store: 'own' as const,
  node_csr: '',
  api_csr: '',
  api_hosts: ['delta.test'],
};

/** Node `nodeNo` of alpha, beta and gamma (1, 2, 3), with the CA key on the named nodes; the others answer as in `answers`. */
const arrange = async (
  t: ExecutionContext,
  {
    nodeNo,
    holders,
    answers = {},
    isStarting = false,
    storeUrl,
  }: {nodeNo: number; holders: number[]; answers?: Record<number, () => unknown>; isStarting?: boolean; storeUrl?: string},
) => {
  const {store} = await testStore(t, {isDurable: false});
  const configuration = testConfiguration(store, {nodeNo});
  const directory = await createNodeDirectory(store, configuration);
  await configuration.change(async tx => {
    for (const [n, node_id] of ['alpha', 'beta', 'gamma'].entries())
      await tx.create('node', n + 1, {
        node_id,
        fqdn: `${node_id}.test`,
        cluster_url: `https://${node_id}.test:8444`,
        api_url: null,
        created_at: tx.at,
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
  const certified: string[][] = [];
  const removedBy: string[] = [];
  const authority = {
    fingerprint: 'sha256:0',
    issueToken: async ({id}: {id: string}) => `ours ${id}`,
    async certify(_node: unknown, {api_hosts}: {api_hosts: string[]}) {
      certified.push(api_hosts);
      return {node_cert: 'node', api_cert: 'api'};
    },
  };
  const authorities = createAuthorities({
    own: async () => (holders.includes(nodeNo) ? authority : undefined),
    directory,
    peerStates: {latest: no => ({has_authority: holders.includes(no)}) as never},
    peers: () => peers,
    nodeNo,
    onRemoved: by => removedBy.push(by),
  });
  const colocatedNodes = createColocatedNodes({nodeNo, ownAddresses: () => ['192.0.2.1']});
  const issuedNames = createIssuedNames({store, hasAuthority: holders.includes(nodeNo), nodes: directory.list});
  const needs = {store, configuration, authorities, directory, issuedNames, colocatedNodes, nodeNo, now: Date.now};
  const joining = createJoining({...needs, storeUrl});
  if (!isStarting) joining.begin(true);
  const actors = createPeerActors({
    store,
    keys: await createKeyDirectory(store, configuration),
    domains: await createDomainDirectory(store, configuration),
    now: Date.now,
    patienceMs: 0,
  });
  return {
    asked,
    configuration,
    directory,
    authorities,
    tokens: createJoinTokens({...needs, actors, isOurs: token => token.startsWith('ours')}),
    joining,
    issuedNames,
    store,
    certified,
    removedBy,
  };
};

const told = (key_id: number, scope: Scope = 'full-admin') => ({
  key_id,
  scope,
  reach: {kind: 'all' as const},
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

test('a node is told of the store of the cluster, and is not admitted with another kind of store', async t => {
  const storeUrl = 'postgres://mfd@db/mfd';
  const own = await arrange(t, {nodeNo: 1, holders: [1]});
  const shared = await arrange(t, {nodeNo: 1, holders: [1], storeUrl});
  const bearer = {tokenId: 'x', remoteAddress: null};

  t.deepEqual(own.joining.terms(), {store_url: null});
  t.deepEqual(shared.joining.terms(), {store_url: storeUrl});
  t.regex(
    await faultOf(shared.joining.admit(bearer, joiner)),
    /^conflict: all nodes of this cluster share a PostgreSQL; nothing/,
  );
  t.regex(await faultOf(own.joining.admit(bearer, {...joiner, store: 'shared'})), /^conflict: every node of this cluster has/);
  t.is(joinRequestSchema.parse({...joiner, store: undefined}).store, 'own');
});

test('a node makes a token for a peer only in the name of a key that it knows to be good for that', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const make = async (name: string, scope: Scope) =>
    alpha.configuration.change(async tx =>
      insertKey(tx, {keyId: null, remoteAddress: null}, {name, scope, rate_limit_per_minute: 60}, undefined),
    );
  const [good, revoked, deleted, weak] = [
    await make('good', 'full-admin'),
    await make('revoked', 'full-admin'),
    await make('deleted', 'full-admin'),
    await make('weak', 'quarantine-only'),
  ];
  await alpha.configuration.change(async tx => {
    await tx.update('api_key', revoked.id, {revoked_at: tx.at});
    await tx.remove('api_key', deleted.id);
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
    alpha.joining.admit({tokenId, remoteAddress: null}, {...joiner, node_id, fqdn: `${node_id}.test`});

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

const at = (node_id: string, host: string, fqdn = host): StoredNode => ({
  id: 1,
  created_at: '',
  smtp_listen: null,
  node_id,
  fqdn,
  cluster_url: `https://${host}:8444`,
  api_url: `https://${host}:8443`,
});

test('no name or address of another node is in a certificate, but what is the machine’s own, and what was given before', t => {
  const nodes = describedNames([
    at('alpha', '192.0.2.1', 'mx1.test'),
    at('beta', '[2001:DB8::1]', 'mx2.test'),
    {...at('gamma', '127.0.0.1', 'localhost'), cluster_url: 'https://c.mx3.test:1', api_url: null},
    at('delta', '[::ffff:192.0.2.4]', 'mx4.test'),
  ]);
  const ours = ['mx2.test', '2001:db8:0::1'];
  const theirs = ['MX1.test', '192.0.2.1', '::ffff:192.0.2.1', 'C.mx3.Test', '192.0.2.4'];
  const everybodys = ['localhost', '127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1'];
  const beta = {node_id: 'beta', currentNames: [], isColocated: () => false};

  t.deepEqual(ownNames([...ours, ...theirs, ...everybodys, 'free.test'], nodes, beta), [...ours, ...everybodys, 'free.test']);
  t.deepEqual(ownNames(theirs, nodes, {...beta, currentNames: ['mx1.TEST', '192.0.2.4']}), ['MX1.test', '192.0.2.4']);
  t.deepEqual(ownNames(theirs, nodes, {...beta, isColocated: ({node_id}) => node_id === 'gamma'}), ['C.mx3.Test']);
});

const renewalOf = async ({joining, certified}: Awaited<ReturnType<typeof arrange>>, nodeNo: number, hosts: string[]) => {
  const peer = {
    nodeId: ['alpha', 'beta', 'gamma'][nodeNo - 1] ?? '',
    nodeNo,
    given: [],
    endMs: Date.now() + 60_000,
    remoteAddress: '192.0.2.77',
  };
  await joining.renew(peer, {node_csr: '', api_csr: '', api_hosts: hosts});
  return certified.at(-1);
};

test('the authority judges names by what it has issued, whatever the records say since', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const first = await renewalOf(alpha, 2, ['beta.test', 'mx.beta.test']);
  // A compromised node has changed the others' names to make them free.
  await alpha.configuration.change(async tx => tx.update('node', 2, {fqdn: 'elsewhere.test', cluster_url: 'https://x.test:1'}));

  const stolen = await renewalOf(alpha, 3, ['gamma.test', 'beta.test', 'mx.beta.test', 'alpha.test', 'free.test']);

  t.deepEqual(first, ['beta.test', 'mx.beta.test']);
  t.deepEqual(stolen, ['gamma.test', 'free.test']);
});

test('a renewal is audited, also that the certificate had ended, and an ended one gives no right to a name of another', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const beta = {nodeId: 'beta', nodeNo: 2, remoteAddress: '192.0.2.2'};
  const requests = {node_csr: '', api_csr: '', api_hosts: ['beta.test', 'old.test']};
  const endMs = Date.now() + 60_000;
  await alpha.joining.renew({...beta, given: [], endMs}, {...requests, api_hosts: ['beta.test']});
  await renewalOf(alpha, 3, ['old.test']);

  await alpha.joining.renew({...beta, given: ['beta.test', 'old.test'], endMs: Date.parse('2026-01-02T03:04:05Z')}, requests);
  await alpha.joining.renew({...beta, given: ['beta.test', 'old.test'], endMs}, requests);

  t.deepEqual(alpha.certified.slice(2), [['beta.test'], ['beta.test', 'old.test']]);
  const {entries} = await alpha.store.audit.list({action: 'cluster.renew'}, {limit: 10, offset: 0});
  t.deepEqual(
    entries.map(({target, detail, remote_address, key_id}) => [target, detail, remote_address, key_id]),
    [
      ['beta', 'number 2', '192.0.2.2', null],
      ['beta', 'number 2, its certificate had expired at 2026-01-02T03:04:05.000Z', '192.0.2.2', null],
      ['gamma', 'number 3', '192.0.2.77', null],
      ['beta', 'number 2', '192.0.2.2', null],
    ],
  );
});

const certificates = {node_cert: 'node', api_cert: 'api'};
const requests = {node_csr: '', api_csr: '', api_hosts: ['beta.test']};
const refuse = (code: 'unavailable' | 'node_removed' | 'node_unreachable') => () => {
  throw new Fault(code, `said ${code}`);
};

test('certificates are asked of the nodes known to have the key first, then of all others', async t => {
  const known = await arrange(t, {nodeNo: 2, holders: [3], answers: {1: () => certificates, 3: () => certificates}});
  const moved = await arrange(t, {nodeNo: 2, holders: [3], answers: {1: () => certificates, 3: refuse('unavailable')}});
  const unheard = await arrange(t, {nodeNo: 2, holders: [], answers: {1: refuse('unavailable'), 3: () => certificates}});
  const lost = await arrange(t, {nodeNo: 2, holders: [3], answers: {1: refuse('unavailable'), 3: refuse('node_unreachable')}});

  for (const {authorities} of [known, moved, unheard]) t.deepEqual(await authorities.askForCertificates(requests), certificates);
  const fault = await t.throwsAsync(lost.authorities.askForCertificates(requests), {instanceOf: Fault});

  t.deepEqual(
    [known, moved, unheard, lost].map(({asked}) => asked),
    [
      ['3 certificates'],
      ['3 certificates', '1 certificates'],
      ['1 certificates', '3 certificates'],
      ['3 certificates', '1 certificates'],
    ],
  );
  t.is(fault?.detail, 'certificates cannot be renewed: gamma does not answer or gives none');
  t.like(fault?.cause, {code: 'node_unreachable'}, 'what the node with the key said counts');
});

test('a node that asks for certificates and is told that it was removed takes note of it, and asks no other', async t => {
  const {authorities, asked, removedBy} = await arrange(t, {nodeNo: 2, holders: [], answers: {1: refuse('node_removed')}});

  await t.throwsAsync(authorities.askForCertificates(requests), {instanceOf: Fault, message: /node_removed/});

  t.deepEqual([asked, removedBy], [['1 certificates'], ['alpha']]);
});

test('a node that has a certificate with other names gives the old ones up, and so does one that is removed', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  await renewalOf(alpha, 2, ['old.test', 'beta.test']);

  const early = await renewalOf(alpha, 3, ['old.test']);
  await renewalOf(alpha, 2, ['new.test']);
  const given = await renewalOf(alpha, 3, ['old.test', 'new.test']);
  await alpha.configuration.change(async tx => tx.remove('node', 2));
  const free = await renewalOf(alpha, 3, ['old.test', 'new.test']);

  t.deepEqual([early, given, free], [[], ['old.test'], ['old.test', 'new.test']]);
});

test('a certificate that is shown counts as issued, where the list is an older one', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  await alpha.issuedNames.prepare();
  await alpha.issuedNames.shown(2, ['Since.Beta.test']);

  t.deepEqual(await renewalOf(alpha, 3, ['since.beta.test', 'gamma.test']), ['gamma.test']);
});

test('a name that is written down for a node in the list is refused to one that joins by it', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  await renewalOf(alpha, 2, ['mx.beta.test']);
  const {token} = await alpha.tokens.create(actor, {});

  const refused = await faultOf(
    alpha.joining.admit({tokenId: token.slice(5), remoteAddress: '192.0.2.77'}, {...joiner, fqdn: 'mx.beta.test'}),
  );

  t.regex(refused, /^conflict: mx\.beta\.test is the name of node beta/);
});

test('two are on one machine when their connections come from one address, whatever they say', t => {
  const colocatedNodes = createColocatedNodes({nodeNo: 1, ownAddresses: () => ['192.0.2.1', 'fe80::1']});
  const self = {id: 1, cluster_url: 'https://mx1.test:8444'};
  const other = {id: 2, cluster_url: 'https://mx1.test:9444'};
  const onLoopback = {id: 3, cluster_url: 'https://127.0.0.1:8444'};
  const beforeItAsked = colocatedNodes.areColocated(other, '192.0.2.2');
  colocatedNodes.noteAddress(2, '::ffff:192.0.2.2');

  for (const address of ['127.0.0.1', '::1', '192.0.2.1', '::ffff:192.0.2.1']) {
    t.true(colocatedNodes.areColocated(self, address), address);
    t.true(colocatedNodes.areColocated(onLoopback, address), address);
    t.false(colocatedNodes.areColocated(other, address), address);
  }
  t.false(beforeItAsked);
  t.true(colocatedNodes.areColocated(other, '192.0.2.2'));
  for (const node of [self, other, onLoopback])
    for (const address of ['192.0.2.3', null]) t.false(colocatedNodes.areColocated(node, address), String(address));
  colocatedNodes.noteAddress(2, '127.0.0.1');
  t.true(colocatedNodes.areColocated(other, '192.0.2.1'));
});

test('who would take the name of a node elsewhere is not let in, and nobody can take it later or have it taken away', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const tokenId = (await alpha.tokens.create(actor, {})).token.slice(5);
  const elsewhere = {tokenId, remoteAddress: '192.0.2.66'};

  const refused = await faultOf(alpha.joining.admit(elsewhere, {...joiner, fqdn: 'Beta.test'}));
  await alpha.joining.admit(elsewhere, {
    ...joiner,
    cluster_url: 'https://beta.test:1',
    api_url: 'https://gamma.test:1',
    api_hosts: ['delta.test', 'beta.test', 'gamma.test', 'localhost'],
  });
  await alpha.joining.renew(
    {nodeId: 'delta', nodeNo: 4, given: ['delta.test', 'localhost'], endMs: Date.now() + 60_000, remoteAddress: '192.0.2.66'},
    {...joiner, api_hosts: ['delta.test', 'beta.test', 'alpha.test', 'new.test']},
  );
  await alpha.joining.renew(
    {nodeId: 'beta', nodeNo: 2, given: ['beta.test'], endMs: Date.now() + 60_000, remoteAddress: '192.0.2.2'},
    {...joiner, api_hosts: ['beta.test']},
  );

  t.regex(refused, /^conflict: Beta\.test is the name of node beta, .*--fqdn/);
  t.deepEqual(alpha.certified, [['delta.test', 'localhost'], ['delta.test', 'new.test'], ['beta.test']]);
});

test('nodes on one machine may have one name', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1]});
  const token = async () => (await alpha.tokens.create(actor, {})).token.slice(5);
  const [first, second] = [await token(), await token()];

  for (const [tokenId, node_id] of [
    [first, 'delta'],
    [second, 'epsilon'],
  ] as const)
    await alpha.joining.admit({tokenId, remoteAddress: '192.0.2.4'}, {...joiner, node_id});

  t.deepEqual(alpha.certified, [['delta.test'], ['delta.test']]);
});

test('nobody is let in before the others have been heard, and without word from all numbers go on at a distance', async t => {
  const alpha = await arrange(t, {nodeNo: 1, holders: [1], isStarting: true});
  const admit = async (node_id: string) => {
    const tokenId = (await alpha.tokens.create(actor, {})).token.slice(5);
    return alpha.joining.admit({tokenId, remoteAddress: null}, {...joiner, node_id, fqdn: `${node_id}.test`});
  };

  const early = await faultOf(admit('delta'));
  alpha.joining.begin(false);
  const numbers = [await admit('delta'), await admit('epsilon')].map(({node_no}) => node_no);
  alpha.joining.seen(30);
  numbers.push((await admit('zeta')).node_no);

  t.regex(early, /^unavailable: .* is still starting; nothing was done/);
  t.deepEqual(numbers, [20, 21, 31]);
});
