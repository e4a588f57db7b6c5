// Small nodes in this process that call each other over real mutual TLS. Each has a hold queue, keys and domains that a test can
// set, and no other part of a node.

import pino from 'pino';
import {createAuthority, issueLeaf, type KeyAndCertificate} from '../../daemon/cluster/certificates.ts';
import {createPeerClient, type PeerClient, type PeerCredentials} from '../../daemon/cluster/peer-client.ts';
import {identityIn, identityUris} from '../../daemon/cluster/peer-identity.ts';
import {createPeerApi} from '../../daemon/http/peer/peer-app.ts';
import {routePeerEvents} from '../../daemon/http/peer/routes-peer-cluster.ts';
import {routeMailBodies, routeQuestions} from '../../daemon/http/peer/routes-questions.ts';
import {type Listener, listenMutualTls} from '../../daemon/node/listen.ts';
import type {KeyDirectory} from '../../daemon/services/access/key-directory.ts';
import {createAuditLog} from '../../daemon/services/audit/audit.ts';
import {auditQuestions} from '../../daemon/services/audit/audit-questions.ts';
import type {DomainDirectory} from '../../daemon/services/domains/domain-directory.ts';
import {createEventBus, type EventBus} from '../../daemon/services/events/event-bus.ts';
import {createPeerActors} from '../../daemon/services/peers/peer-actors.ts';
import type {AuditLog} from '../../daemon/services/ports.ts';
import {holdListQuestions, holdQuestions} from '../../daemon/services/quarantine/hold-questions.ts';
import type {StoredApiKey} from '../../daemon/services/records.ts';
import type {Domain} from '../../shared/domain.ts';
import {operator, type TestQueue, testQueue} from './hold-queue.ts';
import {freePort} from './ports.ts';
import type {Teardown} from './store.ts';

export interface PeerNode extends TestQueue {
  nodeId: string;
  bus: EventBus;
  auditLog: AuditLog;
  /** Keys and domains of this node. */
  keys: Map<number, StoredApiKey>;
  domainIds: Set<number>;
  credentials: PeerCredentials;
  /** Calls this node as `asker`. */
  clientOf(asker: PeerNode): PeerClient;
  /** Closes the listener, or opens it again at the same address. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** The key of `operator`. */
export const storedKey = (fields: Partial<StoredApiKey> = {}): StoredApiKey => ({
  id: operator.keyId ?? 0,
  name: 'operator',
  key_prefix: 'mfk_00000000',
  key_hash: '',
  scope: 'full-admin',
  rate_limit_per_minute: 600,
  domain: null,
  domain_id: null,
  domains: null,
  domain_ids: null,
  expires_at: null,
  revoked_at: null,
  created_at: '2026-01-01T00:00:00.000Z',
  ...fields,
});

/** `patienceMs`: how long a node waits for a key that it does not know. */
export const startPeerNodes = async (t: Teardown, names: string[], patienceMs = 200): Promise<PeerNode[]> => {
  const authority = await createAuthority(Date.now());
  const nodes: PeerNode[] = [];
  for (const [index, name] of names.entries())
    nodes.push(await startPeerNode(t, authority, {name, nodeNo: index + 1, patienceMs}));
  return nodes;
};

const startPeerNode = async (
  t: Teardown,
  authority: KeyAndCertificate,
  {name, nodeNo, patienceMs}: {name: string; nodeNo: number; patienceMs: number},
): Promise<PeerNode> => {
  const identity = {nodeId: name, nodeNo};
  const pair = await issueLeaf(authority, {commonName: name, hosts: ['localhost'], uris: identityUris(identity)}, Date.now());
  const own = {...pair, ca: authority.cert};
  const held = await testQueue(t, {nodeId: name, isDurable: false});
  const keys = new Map([[operator.keyId ?? 0, storedKey()]]);
  const domainIds = new Set<number>();
  const bus = createEventBus({
    nodeId: name,
    now: Date.now,
    onFailure: error => {
      throw error;
    },
  });
  const auditLog = createAuditLog({store: held.store, nodeId: name});
  const actors = createPeerActors({
    store: held.store,
    keys: {findById: id => keys.get(id)} as KeyDirectory,
    domains: {findById: id => (domainIds.has(id) ? ({id} as Domain) : undefined)} as DomainDirectory,
    now: Date.now,
    patienceMs,
  });
  const api = createPeerApi({
    identityIn,
    isMember: () => true,
    wasRemoved: () => false,
    noteAddress: () => {},
    routes: [
      routeQuestions(actors, held.queue, holdListQuestions),
      routeQuestions(actors, held.queue, holdQuestions),
      routeMailBodies(actors, held.queue),
      routeQuestions(actors, auditLog, auditQuestions),
      routePeerEvents({bus}),
    ],
    openRoutes: [],
    log: pino({level: 'silent'}),
  });
  let listener: Listener | undefined;
  const port = await freePort();
  const start = async () => {
    listener = await listenMutualTls(
      {host: '127.0.0.1', port},
      {...own, admits: () => true, trusts: () => true, mayGetReason: () => false},
      api.callback(),
    );
  };
  const stop = async () => listener?.stop(0);
  await start();
  t.teardown(stop as () => Promise<void>);

  return Object.assign(held, {
    nodeId: name,
    credentials: own,
    bus,
    auditLog,
    keys,
    domainIds,
    start,
    stop: stop as () => Promise<void>,
    clientOf(asker: PeerNode) {
      const client = createPeerClient({
        peer: identity,
        address: () => ({host: '127.0.0.1', port}),
        credentials: asker.credentials,
      });
      t.teardown(async () => client.close());
      return client;
    },
  });
};
