// Traffic at a site during a fault: mail sent, released, discarded, configuration changed, on all nodes at once.
import {setTimeout as delay} from 'node:timers/promises';
import type {MailReference} from '../../shared/held-mail.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {connect, type SmtpClient} from '../helpers/smtp-client.ts';
import type {Action} from './ledger.ts';
import type {Random} from './random.ts';
import type {Site} from './site.ts';
import type {MailToSend, Trial} from './trial.ts';

export interface Traffic {
  /** Resolves when every client has received its last answer, or has lost its connection. */
  stop(): Promise<void>;
}

interface Needs {
  site: Site;
  trial: Trial;
  random: Random;
  /** SMTP clients of each node. */
  senders?: number;
}

type Job = (needs: Needs, node: ClusterNode, isOver: () => boolean) => Promise<void>;

export const startTraffic = (needs: Needs): Traffic => {
  const {site, trial, senders = 3} = needs;
  let isOver = false;

  const start = async (job: Job, node: ClusterNode) => {
    try {
      await job(needs, node, () => isOver);
    } catch (error) {
      if (!isLoss(error)) trial.strange.push(`${job.name} at ${node.node_id}: ${error instanceof Error ? error.stack : error}`);
      trial.losses.push(node.node_id);
    }
  };
  const jobs = site.nodes
    .flatMap(node =>
      [...Array.from({length: senders}, () => send), act, act, changeDomain, changeRecords].map(job => ({job, node})),
    )
    .map(async ({job, node}) => start(job, node));

  return {
    async stop() {
      isOver = true;
      await Promise.all(jobs);
    },
  };
};

/** A broken connection, as seen by the clients of SMTP and HTTPS. */
const isLoss = (error: unknown): boolean =>
  error instanceof Error &&
  /ECONNRESET|ECONNREFUSED|EPIPE|socket hang up|aborted|the server closed|socket disconnected/.test(error.message);

const send: Job = async (needs, node, isOver) => {
  const {trial, random} = needs;
  const client = await connect(node.smtpPort);
  try {
    await client.cmd('EHLO client.test');
    while (!isOver()) {
      await sendOne(client, needs, {node, mail: trial.nextMail(random)});
      await delay(2);
    }
  } finally {
    client.destroy();
  }
};

/** The database of the nodes is away on purpose, so they refuse for the time being. */
const isRefusal = ({database}: Site, code: number): boolean => database?.isAway === true && [451, 503, 504].includes(code);

const sendOne = async (
  client: SmtpClient,
  {site, trial}: Needs,
  {node, mail}: {node: ClusterNode; mail: MailToSend},
): Promise<void> => {
  const {ledger, held, strange} = trial;
  try {
    const replies = [await client.cmd('MAIL FROM:<ada@sender.test>')];
    // A server drops clients that go on after a refusal.
    if (!isRefusal(site, replies[0]?.code ?? 0)) replies.push(await client.cmd(`RCPT TO:<${mail.to}>`));
    if (replies.some(({code}) => isRefusal(site, code))) {
      trial.unanswered(mail);
      await client.cmd('RSET');
      return await delay(100);
    }
    ledger.sending(mail);
    const {code, text} = await client.data(mail.raw);
    const queueId = /queued as (\w+)$/.exec(text)?.[1];
    if (isRefusal(site, code)) trial.unanswered(mail);
    else if (code !== 250 || queueId === undefined) {
      strange.push(`${mail.token}: ${[...replies, {code, text}].map(reply => `${reply.code} ${reply.text}`).join(', ')}`);
    } else if (mail.isToBeHeld) {
      ledger.accepted(mail.token, queueId, node.node_id);
      held.push({node_id: node.node_id, queue_id: queueId});
    } else ledger.relayed(mail.token);
  } catch (error) {
    trial.unanswered(mail);
    throw error;
  }
};

/** Through this node, whichever node holds the mails. */
const act: Job = async ({site, trial, random}, node, isOver) => {
  while (!isOver()) {
    await delay(10);
    const action = random.pick(['release', 'discard'] as const);
    const mails = take(trial.held, random, random.chance(0.2) ? random.between(2, 12) : 1);
    if (mails.length === 0) continue;
    for (const {queue_id} of mails) trial.ledger.acting(queue_id, action);
    await (mails.length > 1 ? actOnAll : actOnOne)({site, trial, random}, {node, action, mails});
  }
};

const take = (held: MailReference[], random: Random, count: number): MailReference[] =>
  Array.from({length: count}, () => held.splice(random.between(0, held.length - 1), 1)).flat();

interface Acting {
  node: ClusterNode;
  action: Action;
  mails: MailReference[];
}

const actOnOne = async ({site, trial}: Needs, {node, action, mails}: Acting): Promise<void> => {
  for (const {node_id, queue_id} of mails) {
    const {status, body} = await site.ask(node, 'POST', `mail/quarantine/${node_id}/${queue_id}/${action}`);
    if (status === 200) trial.ledger.acted(queue_id, action);
    else if (!isOfOwner(status) && !(status === 409 && trial.contested.has(queue_id)))
      trial.strange.push(`${action} of ${node_id}/${queue_id} at ${node.node_id}: ${status} ${body}`);
  }
};

const actOnAll = async ({site, trial}: Needs, {node, action, mails}: Acting): Promise<void> => {
  const {status, json, body} = await site.ask(node, 'POST', `mail/quarantine/${action}`, {items: mails});
  if (isRefusal(site, status)) return;
  if (status !== 200) {
    trial.strange.push(`${action} of ${mails.length} at ${node.node_id}: ${status} ${body}`);
    return;
  }
  for (const result of json.data as {queue_id: string; error?: {code: string}}[])
    if (result.error === undefined) trial.ledger.acted(result.queue_id, action);
    else if (
      !faultsOfOwner.has(result.error.code) &&
      !(site.database?.isAway && result.error.code === 'unavailable') &&
      !(['conflict', 'unavailable'].includes(result.error.code) && trial.contested.has(result.queue_id))
    )
      trial.strange.push(`bulk ${action}: ${JSON.stringify(result)}`);
};

/** The mail is at another node, which does not answer. */
const isOfOwner = (status: number): boolean => status === 503 || status === 504;
const faultsOfOwner = new Set(['node_unreachable', 'outcome_unknown']);

const changeDomain: Job = async ({site, trial}, node, isOver) => {
  const id = site.domainIds.get(node.node_id);
  const name = `tenant of ${node.node_id}`;
  while (!isOver()) {
    const value = site.nextValue();
    trial.ledger.changing(name, value);
    const {status, body} = await site.ask(node, 'PUT', `domains/${id}`, {tenant_id: value});
    if (status === 200) trial.ledger.changed(name, value);
    else if (!isRefusal(site, status)) trial.strange.push(`PUT domain at ${node.node_id}: ${status} ${body}`);
    await delay(5);
  }
};

/** Creates keys and domains, and deletes or revokes every second one. */
const changeRecords: Job = async (needs, node, isOver) => {
  const {trial, random} = needs;
  while (!isOver()) {
    const isKey = random.chance(0.5);
    const name = isKey ? `${trial.name} key ${trial.next()}` : `n${trial.next()}.${trial.name}.test`;
    const id = await make(needs, node, {name, isKey});
    await delay(10);
    if (id !== undefined && random.chance(0.5)) await endRecord(needs, node, {name, isKey, id});
  }
};

const make = async ({site, trial}: Needs, node: ClusterNode, {name, isKey}: {name: string; isKey: boolean}) => {
  trial.ledger.making(name);
  const {status, json, body} = isKey
    ? await site.ask(node, 'POST', 'auth/api-keys', {name, scope: 'read-only'})
    : await site.ask(node, 'POST', 'domains', {name, backend_servers: [node.backend], quarantine_threshold: 5});
  if (isRefusal(site, status)) return undefined;
  if (status !== 201) {
    trial.strange.push(`making ${name} at ${node.node_id}: ${status} ${body}`);
    return undefined;
  }
  trial.ledger.made(name);
  if (isKey) trial.keys.set(name, json.data.key);
  return json.data.id as number;
};

const endRecord = async (
  {site, trial}: Needs,
  node: ClusterNode,
  {name, isKey, id}: {name: string; isKey: boolean; id: number},
): Promise<void> => {
  trial.ledger.ending(name);
  const {status, body} = isKey
    ? await site.ask(node, 'POST', `auth/api-keys/${id}/revoke`)
    : await site.ask(node, 'DELETE', `domains/${id}`);
  // What has just been made may not be in the memory of its node yet.
  const isBehind = site.database?.isAway === true && status === 404;
  if (status === 200) trial.ledger.ended(name);
  else if (!isBehind && !isRefusal(site, status)) trial.strange.push(`ending ${name} at ${node.node_id}: ${status} ${body}`);
};
