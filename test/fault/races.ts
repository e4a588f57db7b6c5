// Races: many callers at many nodes who release and discard the same mails at once.
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {ActionOutcome, HoldAction, MailReference} from '../../shared/held-mail.ts';
import {type Cluster, type ClusterNode, type ClusterOptions, startCluster} from '../helpers/cluster.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {connect} from '../helpers/smtp-client.ts';
import type {Fault, FaultContext} from './fault.ts';
import {patient} from './patient-node.ts';
import {judgeAudit, judgeRace, type Told} from './race-judge.ts';

const batchSize = 20;
const heldDomain = 'held.test';
/** The backend refuses mail for this domain while mails are raced for: its mails can only be discarded. */
const refused = `refused@${heldDomain}`;

interface Arena {
  cluster: Cluster;
  nodes: ClusterNode[];
  keys: {id: number; key: string}[];
}

type Store = Pick<ClusterOptions<string>, 'postgres'>;

interface RacedMail extends MailReference {
  token: string;
  isRefused: boolean;
  told: Told[];
}

const raced = (startStore: (owner: FaultContext['owner']) => Promise<Store>): Omit<Fault, 'name' | 'title'> => ({
  rounds: 2000,
  shortRounds: 40,
  pass: 'one winner each, at most one delivery, one audit entry, all are told the same',

  async run({rounds, owner, randomOf, say}) {
    const arena = await openArena(owner, await startStore(owner));
    const mails: RacedMail[] = [];
    const violations: string[] = [];
    for (let from = 0; from < rounds; from += batchSize) {
      const count = Math.min(batchSize, rounds - from);
      const batch = await holdBatch(arena, {from, count, randomOf});
      arena.cluster.sink.behave({recipients: {[refused]: {code: 550, text: '5.1.1 unknown'}}});
      await raceFor(arena, batch, {from, randomOf});
      arena.cluster.sink.behave({});
      mails.push(...batch);
      if ((from / batchSize) % 20 === 19) say(`${mails.length} mails raced for`);
    }
    const delivered = new Map<string, number>();
    for (const {content} of arena.cluster.sink.mails) {
      const token = /^Subject: (.*)\r$/m.exec(content.toString('latin1'))?.[1] ?? '';
      delivered.set(token, (delivered.get(token) ?? 0) + 1);
    }
    const held = await stillHeld(arena);
    for (const mail of mails)
      violations.push(...judgeRace(mail, {deliveries: delivered.get(mail.token) ?? 0, isHeld: held.has(mail.queue_id)}));
    violations.push(...judgeAudit(mails, await readAudit(arena)));
    const told = mails.flatMap(mail => mail.told);
    const count = (is: (one: Told) => boolean) => told.filter(is).length;
    return {
      rounds: mails.length,
      violations,
      figures: {
        callers: told.length,
        released: count(({outcome}) => outcome?.state === 'released' && !outcome.already),
        discarded: count(({outcome}) => outcome?.state === 'discarded' && !outcome.already),
        already: count(({outcome}) => outcome?.already === true),
        conflicts: count(({error}) => error === 'conflict'),
        'not heard': count(({error}) => error === 'node_unreachable'),
        'not delivered': count(({error}) => error === 'delivery_failed'),
      },
    };
  },
});

export const races: Fault = {
  name: 'races',
  title: 'release and discard, single and in bulk, of the same mails over 3 nodes',
  ...raced(async () => ({})),
};

export const postgresRaces: Fault = {
  name: 'postgres-races',
  title: 'the same over 3 nodes on one PostgreSQL',
  missing: postgresMissing,
  ...raced(async owner => ({postgres: await startPostgres(owner)})),
};

const openArena = async (owner: FaultContext['owner'], store: Store): Promise<Arena> => {
  const cluster = await startCluster(owner, {...store, isProxied: false, config: {log: {level: 'warn'}}});
  const nodes = Object.values(cluster.nodes).map(patient);
  const [first] = nodes as [ClusterNode];
  const keys = [];
  for (const _ of nodes) keys.push(await first.createKey('full-admin', {rate_limit_per_minute: 1_000_000}));
  await first.createDomain({name: heldDomain, quarantine_threshold: -1000, reject_threshold: 10_000});
  await cluster.converged(120_000);
  return {cluster, nodes, keys};
};

type Part = {from: number} & Pick<FaultContext, 'randomOf'>;

/** Mails on all nodes, with one session for each node. */
const holdBatch = async ({nodes}: Arena, {from, count, randomOf}: Part & {count: number}): Promise<RacedMail[]> => {
  const wanted = Array.from({length: count}, (_, n) => {
    const random = randomOf(from + n);
    return {n: from + n, owner: random.pick(nodes), isRefused: random.chance(0.05)};
  });
  const session = async (node: ClusterNode): Promise<RacedMail[]> => {
    const client = await connect(node.smtpPort);
    try {
      await client.cmd('EHLO client.test');
      const held: RacedMail[] = [];
      for (const {n, isRefused} of wanted.filter(({owner}) => owner === node)) {
        const token = `race ${n}`;
        await client.cmd('MAIL FROM:<sender@outside.test>');
        await client.cmd(`RCPT TO:<${isRefused ? refused : `someone@${heldDomain}`}>`);
        const {code, text} = await client.data(`Subject: ${token}\r\nX-Spam-Score: 8\r\n\r\nbody\r\n`);
        const queue_id = / queued as (\w+)$/.exec(text)?.[1];
        if (!queue_id) throw new Error(`${token} was not held: ${code} ${text}`);
        held.push({node_id: node.node_id, queue_id, token, isRefused, told: []});
      }
      return held;
    } finally {
      client.destroy();
    }
  };
  return (await Promise.all(nodes.map(session))).flat();
};

/** All at once: a few callers for each mail, and some who request many mails. */
const raceFor = async ({nodes, keys}: Arena, mails: RacedMail[], {from, randomOf}: Part): Promise<void> => {
  const starts: (() => Promise<void>)[] = [];
  for (const [n, mail] of mails.entries()) {
    const random = randomOf(from + n);
    // Sometimes all want the same action.
    const only = random.chance(0.3) ? random.pick<HoldAction>(['release', 'discard']) : undefined;
    for (let callers = random.between(2, 6); callers > 0; callers -= 1) {
      const action = only ?? random.pick<HoldAction>(['release', 'discard']);
      const [by, key] = [random.pick(nodes), random.pick(keys)];
      starts.push(async () => {
        const {status, json} = await by.api('POST', `mail/quarantine/${mail.node_id}/${mail.queue_id}/${action}`, {key: key.key});
        mail.told.push({action, keyId: key.id, ...(status === 200 ? {outcome: json.data} : {error: json.error.code})});
      });
    }
  }
  const random = randomOf(-1 - from);
  for (let calls = 4; calls > 0; calls -= 1) {
    const action = random.pick<HoldAction>(['release', 'discard']);
    const [by, key] = [random.pick(nodes), random.pick(keys)];
    const some = mails.filter(() => random.chance(0.4));
    const items = some.map(({node_id, queue_id}) => ({node_id, queue_id}));
    if (some.length === 0) continue;
    starts.push(async () => {
      const {status, json} = await by.api('POST', `mail/quarantine/${action}`, {key: key.key, body: {items}});
      if (status !== 200) throw new Error(`bulk ${action}: ${status}`);
      for (const [at, mail] of some.entries()) {
        const result = json.data[at] as ActionOutcome & {error?: {code: string}};
        mail.told.push({action, keyId: key.id, ...(result.error ? {error: result.error.code} : {outcome: result})});
      }
    });
  }
  const order = starts.map(start => ({start, at: random.next()})).sort((a, b) => a.at - b.at);
  await Promise.all(order.map(async ({start}) => start()));
};

const stillHeld = async ({nodes: [node], keys: [key]}: Arena): Promise<Set<string>> => {
  if (!node || !key) throw new Error('there is no node');
  const {json} = await node.api('GET', 'mail/quarantine?limit=1000&strict=true', {key: key.key});
  return new Set(json.data.map(({queue_id}: MailReference) => queue_id));
};

const readAudit = async ({nodes: [node], keys: [key]}: Arena): Promise<AuditEntry[]> => {
  if (!node || !key) throw new Error('there is no node');
  const entries: AuditEntry[] = [];
  for (const action of ['release', 'discard'])
    for (let [offset, total] = [0, 1]; offset < total; offset += 1000) {
      const path = `audit?action=quarantine.${action}&limit=1000&offset=${offset}`;
      const {json, headers} = await node.api('GET', path, {key: key.key});
      entries.push(...json.data);
      total = Number(headers['x-total-count']);
    }
  return entries;
};
