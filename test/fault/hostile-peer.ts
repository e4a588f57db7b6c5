// A compromised cluster member that sends any request and any answer, and strangers who connect to the same port.
import {randomUUID} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {Agent, request} from 'node:https';
import {join} from 'node:path';
import {createAuthority, issueLeaf} from '../../daemon/cluster/certificates.ts';
import {identityUris} from '../../daemon/cluster/peer-identity.ts';
import {statusOfCode} from '../../shared/fault.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {startCluster} from '../helpers/cluster.ts';
import {type Credentials, nodeCredentials} from '../helpers/peer-call.ts';
import type {Fault} from './fault.ts';
import {createTally, runHostile, within} from './hostile.ts';
import {joinedNodes, type PeerInput, peerInput} from './hostile-peer-input.ts';
import {startHostilePeer} from './hostile-peer-server.ts';
import {memoryFolder} from './memory-folder.ts';
import {createMemoryProbe} from './memory-probe.ts';
import type {Random} from './random.ts';

export const hostilePeer: Fault = {
  name: 'hostile-peer',
  title: 'generated questions, events and answers of a peer that was taken over, and strangers without its certificate',
  rounds: 100_000,
  shortRounds: 800,
  pass: 'no crash, no 500, no undeclared status, memory and open files flat, a good client served, no stranger let in',

  async run(context) {
    const {owner} = context;
    const memory = await createMemoryProbe(owner);
    const cluster = await startCluster(owner, {
      nodes: ['alpha', 'beta'],
      isProxied: false,
      folder: await memoryFolder(owner),
      config: {log: {level: 'error'}},
      env: {alpha: memory.env},
    });
    const {alpha, beta} = cluster.nodes;
    await cluster.converged();
    await beta.stop();
    const tally = createTally();
    const own = await nodeCredentials(beta);
    const answering = await startHostilePeer(owner, beta, context.randomOf);
    const targets = await targetsAt(alpha);
    const caller = await createCaller(owner.teardown, alpha, own);
    const strangers = await strangersOf(alpha);

    const ask = async (random: Random): Promise<void> => {
      const input = peerInput(random, targets);
      const {status, json} = await caller(input).catch((error: Error) => {
        // A request that is far too long is answered before it has been read, and its connection is closed.
        if ((input.body?.length ?? 0) > tooLong) return {status: 413, json: undefined};
        throw new Error(`${error.message} ${shown(input)}`);
      });
      tally.add(String(status));
      if (input.path === 'events' && status === 200) targets.applied = Number(json?.data?.applied);
      if (!declared.has(status)) throw new Error(`answered ${status} ${JSON.stringify(json)} ${shown(input)}`);
    };
    const askForAnswers = async (random: Random): Promise<void> => {
      const [method, path] = random.pick(questionsForAll(targets.queueId));
      const asked = alpha.api(method, path).catch((error: Error) => {
        // A body that its owner breaks off is broken off here as well, so that no client takes it for the whole.
        if (path.endsWith('/body')) return {status: 'broken off', body: ''} as const;
        throw error;
      });
      const {status, body} = await within(asked, `hung in "${method} ${path}"`, patienceMs);
      tally.add(`api ${status}`);
      if (status !== 'broken off' && !declared.has(status)) throw new Error(`answered ${status} ${body} in "${method} ${path}"`);
    };
    const knock = async (random: Random): Promise<void> => {
      const [who, credentials] = random.pick(strangers);
      const status = await caller.as(credentials, peerInput(random, targets)).catch(() => 'closed');
      tally.add(`stranger ${status}`);
      if (status !== 'closed' && status !== 403) throw new Error(`${who} was answered ${status}`);
    };

    const report = await runHostile(context, {
      node: alpha,
      memory,
      concurrency: 16,
      async session(random) {
        if (random.chance(0.1)) {
          await knock(random);
          return 1;
        }
        const inputs = 8;
        for (let left = inputs; left > 0; left -= 1) await (random.chance(0.1) ? askForAnswers(random) : ask(random));
        return inputs;
      },
      good: await createGoodCaller(alpha, targets.queueId),
      figures: () => ({statuses: tally.text(), 'wrong answers': answering.count(), 'events applied': targets.applied}),
    });
    return {...report, violations: [...report.violations, ...(await damages(alpha))]};
  },
};

/** 500 is declared too, but must never occur. */
const declared = new Set<number>([200, 201, ...Object.values(statusOfCode)].filter(status => status !== 500));

const patienceMs = 20_000;
const tooLong = 8 * 1024 * 1024;

const shown = ({method, path, body}: PeerInput) => `in "${method} ${path}" ${String(body).slice(0, 700)}`;

const questionsForAll = (queueId: string): [string, string][] => [
  ['GET', 'mail/quarantine'],
  ['GET', 'mail/quarantine?offset=5000&limit=1000'],
  ['GET', 'mail/quarantine?node=beta&strict=true'],
  ['GET', 'mail/quarantine/summary'],
  ['GET', 'audit?offset=500'],
  ['GET', `mail/quarantine/beta/${queueId}`],
  ['GET', `mail/quarantine/beta/${queueId}/body`],
  ['POST', `mail/quarantine/beta/${queueId}/release`],
  ['POST', `mail/quarantine/beta/${queueId}/discard`],
  ['GET', 'cluster/status'],
  ['GET', 'cluster/drift'],
];

const targetsAt = async (alpha: ClusterNode) => {
  const {id, name} = await alpha.createDomain();
  const reader = await alpha.createKey('read-only');
  const {queue_id} = await alpha.hold({to: `a@${name}`});
  return {domainIds: [id], readerId: reader.id, queueId: queue_id, applied: 0};
};

/** Reads, changes, and finds the mail that is held there. */
const createGoodCaller = async (alpha: ClusterNode, queueId: string) => {
  const {id} = await alpha.createDomain();
  const {key} = await alpha.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  let threshold = 0;
  return async (): Promise<void> => {
    threshold = (threshold + 1) % 10;
    const put = await alpha.api('PUT', `domains/${id}`, {key, body: {quarantine_threshold: threshold}});
    const mail = await alpha.api('GET', `mail/quarantine/alpha/${queueId}`, {key});
    const list = await alpha.api('GET', 'mail/quarantine?node=alpha', {key});
    if (
      put.json.data?.quarantine_threshold !== threshold ||
      mail.status !== 200 ||
      list.status !== 200 ||
      list.json.data.length === 0
    )
      throw new Error(`${put.status} ${put.body} ${mail.status} ${list.status}`);
  };
};

/**
 * A peer must not be able to rename another node or to remove the node that it connects to. It may announce unknown nodes, since
 * any member lets others join.
 */
const damages = async (alpha: ClusterNode): Promise<string[]> => {
  const {peers} = await alpha.status();
  const ids = peers.map(({node_id}) => node_id).sort();
  const members = ids.filter(id => !joinedNodes.includes(id)).join(' ');
  return members === 'alpha beta' ? [] : [`the cluster consists of ${ids.join(' ')}`];
};

const createCaller = async (teardown: (close: () => void) => void, target: ClusterNode, own: Credentials) => {
  const ca = await readFile(target.ca_file, 'utf8');
  const options = {ca, checkServerIdentity: () => undefined};
  const kept = new Agent({...options, ...own, keepAlive: true});
  teardown(() => kept.destroy());

  const send = async (
    agent: Agent,
    {method, path, body}: PeerInput,
  ): Promise<{status: number; json: {data?: {applied?: number}} | undefined}> =>
    new Promise((resolve, reject) => {
      const headers = body ? {'Content-Type': 'application/json', 'Content-Length': body.length} : {};
      const sent = request(`${target.cluster_url}/peer/v1/${path}`, {method, agent, headers}, response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const isJson = String(response.headers['content-type']).startsWith('application/json');
          resolve({status: response.statusCode ?? 0, json: isJson ? JSON.parse(Buffer.concat(chunks).toString()) : undefined});
        });
        response.on('error', reject);
      });
      sent.on('error', reject);
      // A node answers its peers in time, whatever the request.
      sent.setTimeout(patienceMs, () => sent.destroy(new Error(`hung ${shown({method, path, body})}`)));
      sent.end(body);
    });
  return Object.assign(async (input: PeerInput) => send(kept, input), {
    /** Uses a connection of its own; resolves with the status, or rejects when there was no answer. */
    async as(credentials: Partial<Credentials>, input: PeerInput) {
      const agent = new Agent({...options, ...credentials});
      try {
        return (await send(agent, input)).status;
      } finally {
        agent.destroy();
      }
    },
  });
};

/** No certificate, one of another authority, and those that this authority issued for something that is not a node. */
const strangersOf = async (alpha: ClusterNode): Promise<[who: string, credentials: Partial<Credentials>][]> => {
  const fileOf = async (name: string) => readFile(join(alpha.data, 'tls', name), 'utf8');
  const foreign = await createAuthority(Date.now());
  const authority = {key: await fileOf('ca.key'), cert: await fileOf('ca.crt')};
  const leaf = async (by: typeof authority, uris: string[]) =>
    issueLeaf(by, {commonName: 'x', hosts: ['localhost'], uris}, Date.now());
  return [
    ['nobody', {}],
    ['a node of another cluster', await leaf(foreign, identityUris({nodeId: 'beta', nodeNo: 2}))],
    ['who is no node', await leaf(authority, ['urn:other:node:x'])],
    // A name and number that a member may not announce.
    ['a node that never was', await leaf(authority, identityUris({nodeId: 'omega', nodeNo: 77}))],
    ['a node with the number of another', await leaf(authority, identityUris({nodeId: 'gamma', nodeNo: 2}))],
    ['a token that was never given', await leaf(authority, [`urn:mfd:join:${randomUUID()}`])],
    ['the certificate of the API', {key: await fileOf('api.key'), cert: await fileOf('api.crt')}],
  ];
};
