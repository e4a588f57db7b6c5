// An inspection of everything that a site has after a fault, compared with what was acknowledged.
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {HeldMail} from '../../shared/held-mail.ts';
import type {ApiAnswer} from '../helpers/api-call.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {splitTrace} from '../helpers/mail-node.ts';
import {otherAddress} from '../helpers/other-address.ts';
import {openTestStore} from '../helpers/store.ts';
import type {ConfigurationFound} from './ledger.ts';
import type {Random} from './random.ts';
import type {SharedDatabase, Site} from './site.ts';
import type {Trial} from './trial.ts';

interface Needs {
  site: Site;
  trial: Trial;
  random: Random;
}

/** The time that several nodes need to see each other again, on a busy machine. */
const settleMs = 20_000;
const samples = 3;

/** Nothing may be under way. Resolves with a line for every violation. */
export const inspect = async (needs: Needs): Promise<string[]> => {
  const {site, trial, random} = needs;
  const wrong = trial.strange.splice(0);
  await site.converged(settleMs);
  if (site.database) await noneClaimed(site.database);
  const held = await everythingHeld(site, random.pick(site.nodes));
  trial.ledger.listed(held);
  trial.noteDeliveries(site);
  trial.held.splice(0, trial.held.length, ...held.map(({node_id, queue_id}) => ({node_id, queue_id})));

  const found = await Promise.all(site.nodes.map(async node => configurationOf(site, trial, node)));
  const [first = {values: new Map()}, ...others] = found;
  wrong.push(
    ...trial.ledger.judge({held, delivered: trial.delivered, ...first}),
    ...others.flatMap(trial.ledger.judgeConfiguration),
  );
  if (site.database) wrong.push(...(await wrongStore(site.database)));
  else for (const node of site.nodes) wrong.push(...(await wrongFiles(node, held)), ...(await wrongDatabase(node)));
  wrong.push(...(await wrongBodies(needs, held)), ...(await wrongEnds(needs)), ...(await wrongKeys(needs, first)));
  return wrong;
};

/** The list of all nodes as this node gives it; its length must be the sum of the single nodes' lists. */
const everythingHeld = async (site: Site, node: ClusterNode): Promise<HeldMail[]> => {
  const page = async (from: ClusterNode, query: string) => {
    const {status, json, headers, body} = await site.ask(from, 'GET', `mail/quarantine?${query}`);
    if (status !== 200) throw new Error(`GET /mail/quarantine of ${from.node_id}: ${status} ${body}`);
    return {mails: json.data as HeldMail[], total: Number(headers['x-total-count']), isWhole: json.message === 'OK'};
  };

  return eventually(async () => {
    const totals = await Promise.all(site.nodes.map(async from => page(from, 'limit=1')));
    const mails: HeldMail[] = [];
    for (const {total} = totals[0] ?? {total: 0}; mails.length < total; ) {
      const {mails: more, isWhole} = await page(node, `limit=1000&offset=${mails.length}`);
      if (!isWhole || more.length === 0) return undefined;
      mails.push(...more);
    }
    return totals.every(({total, isWhole}) => isWhole && total === mails.length) && mails;
  }, settleMs);
};

const configurationOf = async (site: Site, {name}: Trial, node: ClusterNode): Promise<ConfigurationFound> => {
  const list = async (path: string) => {
    const {status, json, body} = await site.ask(node, 'GET', path);
    if (status !== 200) throw new Error(`GET ${path} of ${node.node_id}: ${status} ${body}`);
    return json.data as {id: number; name: string; revoked_at?: string | null; tenant_id?: number | null}[];
  };
  const domains = await list('domains');
  const keys = await list('auth/api-keys');
  const owners = new Map([...site.domainIds].map(([nodeId, id]) => [id, nodeId]));

  const values = domains.flatMap(({id, tenant_id}): [string, number][] =>
    owners.has(id) ? [[`tenant of ${owners.get(id)}`, tenant_id ?? 0]] : [],
  );
  const records = new Map<string, boolean>();
  // When one request has created two records, the second gets a name that was never requested.
  const add = (record: string, isGood: boolean) => records.set(records.has(record) ? `${record}, a second one,` : record, isGood);
  for (const domain of domains) if (domain.name.endsWith(`.${name}.test`)) add(domain.name, true);
  for (const key of keys) if (key.name.startsWith(`${name} `)) add(key.name, key.revoked_at === null);
  return {values: new Map(values), records};
};

/** Every listed mail has a file, every file is listed, and there are no other files. */
const wrongFiles = async ({data, node_id}: ClusterNode, held: readonly HeldMail[]): Promise<string[]> => {
  const listed = held.filter(mail => mail.node_id === node_id).map(({queue_id}) => queue_id);
  const files = await readdir(join(data, 'spool', 'held'));
  const left = [...(await readdir(join(data, 'spool', 'tmp'))), ...(await readdir(join(data, 'spool', 'damaged')))];
  return [
    ...listed.filter(id => !files.includes(id)).map(id => `${node_id}/${id} is listed and has no file`),
    ...files.filter(id => !listed.includes(id)).map(id => `${node_id}/${id} has a file and is not listed`),
    ...left.map(file => `${node_id} left ${file} in tmp or damaged`),
  ];
};

/** An action whose result could not be recorded is recorded soon, or its claim ends. */
const noneClaimed = async ({query}: SharedDatabase): Promise<void> => {
  let left: Record<string, unknown>[] = [];
  try {
    await eventually(async () => {
      left = await query(
        "SELECT node_id, queue_id, state, claimed_by, lease_until - now() AS left FROM held_mail WHERE is_held AND state <> 'held'",
      );
      return left.length === 0;
    }, 60_000);
  } catch (error) {
    throw new Error(`mails stay claimed: ${JSON.stringify(left)}`, {cause: error});
  }
};

/** Every held mail has its bytes, no other has, and the totals are those of the rows. */
const wrongStore = async ({query}: SharedDatabase): Promise<string[]> => {
  const rules: [rule: string, sql: string][] = [
    [
      'is held and has no bytes',
      'SELECT queue_id FROM held_mail AS m WHERE is_held AND NOT EXISTS (SELECT FROM held_body AS b WHERE b.node_id = m.node_id AND b.queue_id = m.queue_id)',
    ],
    [
      'has bytes and is not held',
      'SELECT DISTINCT queue_id FROM held_body AS b WHERE NOT EXISTS (SELECT FROM held_mail AS m WHERE m.node_id = b.node_id AND m.queue_id = b.queue_id AND is_held)',
    ],
    [
      'has another total than its rows',
      `SELECT domain || ' of ' || node_id AS queue_id FROM (
         SELECT node_id, domain, reason, count, size_bytes FROM held_count WHERE count <> 0
         EXCEPT SELECT node_id, domain, reason, count(*), sum(size_bytes) FROM held_mail WHERE is_held GROUP BY node_id, domain, domain_id, reason
       ) AS wrong`,
    ],
  ];
  const found = await Promise.all(
    rules.map(async ([rule, sql]) => (await query(sql)).map(({queue_id}) => `${queue_id} ${rule}`)),
  );
  return found.flat();
};

const wrongDatabase = async ({data, node_id}: ClusterNode): Promise<string[]> => {
  const store = await openTestStore(join(data, 'mfd.db'));
  try {
    const rows = (await store.read.raw('PRAGMA integrity_check')) as {integrity_check: string}[];
    return rows
      .map(row => row.integrity_check)
      .filter(text => text !== 'ok')
      .map(text => `${node_id}: integrity_check: ${text}`);
  } finally {
    await store.close();
  }
};

const some = <T>(random: Random, items: readonly T[]): T[] =>
  items.length === 0 ? [] : Array.from({length: samples}, () => random.pick(items));

/** A node whose mail owner is too busy answers that the client should retry. */
const patiently = async (ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> =>
  eventually(async () => {
    const answer = await ask();
    return answer.status !== 503 && answer;
  }, settleMs);

const wrongBodies = async ({site, trial, random}: Needs, held: readonly HeldMail[]): Promise<string[]> => {
  const wrong: string[] = [];
  for (const {node_id, queue_id, subject} of some(random, held)) {
    const node = random.pick(site.nodes);
    const {status, body} = await patiently(async () => site.ask(node, 'GET', `mail/quarantine/${node_id}/${queue_id}/body`));
    const isRight = status === 200 && splitTrace(body).rest.equals(Buffer.from(trial.ledger.rawOf(subject) ?? ''));
    if (!isRight) wrong.push(`the body of ${node_id}/${queue_id} (${subject}) is not what was sent: ${status}`);
  }
  return wrong;
};

/** A completed action stays completed: repeating it changes nothing, and the opposite is refused. */
const wrongEnds = async ({site, trial, random}: Needs): Promise<string[]> => {
  const wrong: string[] = [];
  for (const {queueId, nodeId, action} of some(random, trial.ledger.ends())) {
    const path = `mail/quarantine/${nodeId}/${queueId}`;
    const node = random.pick(site.nodes);
    const again = await patiently(async () => site.ask(node, 'POST', `${path}/${action}`));
    const opposite = await patiently(async () =>
      site.ask(node, 'POST', `${path}/${action === 'release' ? 'discard' : 'release'}`),
    );
    if (again.status !== 200 || again.json.data.already !== true || opposite.status !== 409)
      wrong.push(`after its ${action}, ${nodeId}/${queueId} answers ${again.status} ${again.body} and ${opposite.status}`);
  }
  return wrong;
};

/** A valid key is accepted by every node, and an invalid one by none. */
const wrongKeys = async ({site, trial, random}: Needs, {records}: ConfigurationFound): Promise<string[]> => {
  const wrong: string[] = [];
  for (const [name, key] of some(random, [...trial.keys])) {
    const {status} = await random.pick(site.nodes).api('GET', 'auth/me', {key, from: otherAddress()});
    if (status !== (records?.get(name) ? 200 : 401))
      wrong.push(`${name} is ${records?.get(name) ? 'good' : 'ended'}, and answers ${status}`);
  }
  return wrong;
};
