// Senders and administrators that work while nodes are stopped and started, and the checks at the end.
import {setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import type {Cluster, ClusterNode} from './cluster.ts';
import {holdAll} from './mail-node.ts';
import {connect} from './smtp-client.ts';

/** Everything that was acknowledged. */
interface Told {
  /** Ids of held mails whose sender got a 250, as node/queue. */
  held: Set<string>;
  ended: Set<string>;
  /** By domain id: the last tenant whose change was answered with 200. */
  tenants: Map<number, number>;
  answers: Map<string, number>;
  /** Answers that no client may get while a node restarts. */
  wrong: string[];
}

const count = ({answers}: Told, what: string) => void answers.set(what, (answers.get(what) ?? 0) + 1);

/** A server that is going down says so; one that is down says nothing. A client has to retry in both cases. */
const sendMails = async (node: ClusterNode, told: Told, signal: AbortSignal): Promise<void> => {
  for (let n = 0; !signal.aborted; n += 1) {
    try {
      const client = await connect(node.smtpPort);
      try {
        for (const line of ['EHLO client.test', 'MAIL FROM:<ada@example.net>', `RCPT TO:<ben@${domainOf(node)}>`])
          await expect(told, client.cmd(line));
        const text = await expect(told, client.data(`Subject: ${node.node_id} ${n}\r\n\r\nbody\r\n`));
        told.held.add(`${node.node_id}/${/queued as (\w+)/.exec(text)?.[1]}`);
        count(told, 'smtp held');
      } finally {
        client.destroy();
      }
    } catch (error) {
      count(told, `smtp ${error instanceof Error ? error.message : error}`);
    }
    await delay(20);
  }
};

const expect = async (told: Told, reply: Promise<{code: number; text: string}>): Promise<string> => {
  const {code, text} = await reply;
  if (code >= 200 && code < 300) return text;
  if (code !== 421 && code !== 451) told.wrong.push(`smtp ${code} ${text}`);
  throw new Error(String(code));
};

const retryable = [429, 503, 504];

/** Resolves with the status, or with 0 when the connection failed. */
const ask = async (node: ClusterNode, told: Told, request: {method: string; path: string; body?: object}): Promise<number> => {
  try {
    const {method, path, body} = request;
    const answer = await node.api(method, path, body && {body});
    count(told, `api ${answer.status}`);
    if (answer.status !== 200 && !retryable.includes(answer.status))
      told.wrong.push(`${node.node_id} ${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.status;
  } catch (error) {
    const {code = String(error)} = error as NodeJS.ErrnoException;
    count(told, `api ${code}`);
    if (!['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code)) told.wrong.push(`${node.node_id}: ${error}`);
    return 0;
  }
};

interface Work {
  node: ClusterNode;
  /** A domain that is changed only here. */
  domainId: number;
  /** The node that holds the mail released or discarded here. */
  owner: ClusterNode;
  told: Told;
  signal: AbortSignal;
}

/** The actions of a person who works with one node. */
const administer = async ({node, domainId, owner, told, signal}: Work): Promise<void> => {
  for (let n = 1; !signal.aborted; n += 1) {
    await ask(node, told, {method: 'GET', path: 'mail/quarantine?limit=20'});
    const changed = await ask(node, told, {method: 'PUT', path: `domains/${domainId}`, body: {tenant_id: n}});
    if (changed === 200) told.tenants.set(domainId, n);
    const [id] = [...told.held].filter(held => !told.ended.has(held) && held.startsWith(`${owner.node_id}/`));
    if (id !== undefined && n % 2 === 0) {
      const ended = await ask(node, told, {method: 'POST', path: `mail/quarantine/${id}/${n % 4 ? 'release' : 'discard'}`});
      if (ended === 200) told.ended.add(id);
      // The outcome is unknown, so the mail may still be held or not. After a 503 it must still be held.
      else if (ended !== 503) told.held.delete(id);
    }
    await delay(20);
  }
};

const domainOf = ({node_id}: ClusterNode) => `${node_id}.example`;

/**
 * Runs `work` under load on all nodes of a cluster. Then checks that everything acknowledged is there, that no released or
 * discarded mail is still held, and that every failure could be retried.
 */
export const underLoad = async <Name extends string>(
  t: ExecutionContext,
  {nodes, converged}: Cluster<Name>,
  work: (all: ClusterNode[]) => Promise<void>,
): Promise<void> => {
  const all: ClusterNode[] = Object.values(nodes);
  const told: Told = {held: new Set(), ended: new Set(), tenants: new Map(), answers: new Map(), wrong: []};
  const ids = new Map<ClusterNode, number>();
  for (const node of all) ids.set(node, (await node.createDomain({name: domainOf(node), ...holdAll})).id);
  await converged();

  const over = new AbortController();
  const {signal} = over;
  const load = all.flatMap((node, n) => [
    sendMails(node, told, signal),
    sendMails(node, told, signal),
    administer({node, domainId: ids.get(node) ?? 0, owner: all[(n + 1) % all.length] ?? node, told, signal}),
  ]);
  await work(all);
  await delay(500);
  over.abort();
  await Promise.all(load);
  await converged();

  t.log(Object.fromEntries(told.answers), `held ${told.held.size}, ended ${told.ended.size}`);
  t.deepEqual(told.wrong, []);
  t.true(told.held.size > 20);
  await judge(t, all, told);
};

const judge = async (t: ExecutionContext, all: ClusterNode[], told: Told): Promise<void> => {
  const listed = new Set<string>();
  for (const node of all)
    for (let offset = 0, more = true; more; offset += 1000) {
      const {json} = await node.api('GET', `mail/quarantine?node=${node.node_id}&limit=1000&offset=${offset}`);
      for (const {node_id, queue_id} of json.data) listed.add(`${node_id}/${queue_id}`);
      more = json.data.length === 1000;
    }
  t.deepEqual(
    [...told.held].filter(id => !told.ended.has(id) && !listed.has(id)),
    [],
    'acknowledged and lost',
  );
  t.deepEqual(
    [...told.ended].filter(id => listed.has(id)),
    [],
    'ended and still held',
  );
  for (const [id, tenant] of told.tenants)
    for (const node of all) t.true(Number((await node.domain(id))?.tenant_id) >= tenant, `${node.node_id}, domain ${id}`);
};
