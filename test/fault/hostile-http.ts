// Requests of hostile clients with keys of every kind: the contract or the description declares each answer.
import {connect} from 'node:tls';
import {statusOfCode} from '../../shared/fault.ts';
import {scopes} from '../../shared/scopes.ts';
import type {ApiAnswer} from '../helpers/api-call.ts';
import {createJudge} from '../helpers/described.ts';
import {type MailNode, startMailNode} from '../helpers/mail-node.ts';
import type {Fault} from './fault.ts';
import {createTally, exchange, runHostile, shown, within} from './hostile.ts';
import {httpBytes} from './hostile-http-bytes.ts';
import {createHttpInputs, type PathValues} from './hostile-http-input.ts';
import {memoryFolder} from './memory-folder.ts';
import {createMemoryProbe} from './memory-probe.ts';
import type {Random} from './random.ts';

export const hostileHttp: Fault = {
  name: 'hostile-http',
  title: 'generated HTTP input of hostile clients, with keys of every scope',
  rounds: 100_000,
  shortRounds: 1000,
  pass: 'no crash, no 500, no undeclared status, memory and open files flat, a good client served',
  async run(context) {
    const memory = await createMemoryProbe(context.owner);
    const node = await startMailNode(context.owner, {
      domain: false,
      config: {log: {level: 'warn'}},
      env: memory.env,
      data: await memoryFolder(context.owner),
    });
    const callers = await keysOf(node);
    const judge = createJudge((await node.api('GET', 'openapi.yaml')).body.toString());
    const inputOf = createHttpInputs(judge.document);
    const victims = await createVictims(node);
    const statuses = createTally();

    const ask = async (random: Random): Promise<void> => {
      const {method, path, ...request} = inputOf(random, victims.values);
      const sent = node.api(method, path, {key: random.pick(callers), ...request});
      const answer = await within(sent, `hung in "${method} ${path}"`);
      statuses.add(String(answer.status));
      const told = `in "${method} ${path}" with ${String(request.body).slice(0, 300)} ${JSON.stringify(request.headers)}`;
      if (!declared.has(answer.status)) throw new Error(`answered ${answer.status} ${told}`);
      const {pathname} = new URL(`${node.api_url}/api/v1/${path.replace(/^\//, '')}`);
      const isDescribed = method !== 'HEAD' && pathname.startsWith('/api/v1/');
      const name = isDescribed ? judge.nameOf(method, pathname.replace('/api/v1', ''), answer.status) : undefined;
      // The description does not cover methods and sizes that no operation has.
      const wrong = name === undefined ? '' : judge.faults(name, answer);
      if (wrong !== '') throw new Error(`${wrong} ${told}`);
      await victims.replace({method, path, answer});
    };
    return runHostile(context, {
      node,
      memory,
      concurrency: 24,
      async session(random) {
        if (random.chance(0.5)) {
          const {bytes, inputs} = httpBytes(random, random.pick(callers) ?? '');
          const socket = connect({host: '127.0.0.1', port: Number(new URL(node.api_url).port), rejectUnauthorized: false});
          for (const status of statusesIn(await exchange(socket, bytes), bytes)) statuses.add(status);
          return inputs;
        }
        for (let left = asked; left > 0; left -= 1) await ask(random);
        return asked;
      },
      good: createGoodReader(node),
      figures: () => ({statuses: statuses.text()}),
    });
  },
};

/** Well-formed requests of one session. */
const asked = 8;

/** 500 is declared too, but must never occur. */
const declared = new Set<number>([200, 201, ...Object.values(statusOfCode)].filter(status => status !== 500));

/** Keys of every scope, and of every other kind; those with the most rights are used most often. */
const keysOf = async (node: MailNode): Promise<(string | null)[]> => {
  const {name} = await node.createDomain();
  const unlimited = {rate_limit_per_minute: 1_000_000};
  const good = await Promise.all(
    scopes.map(async scope => node.createKey(scope, {...unlimited, ...(scope === 'domain-admin' && {domain: name})})),
  );
  const [revoked, slow] = [
    await node.createKey('full-admin', unlimited),
    await node.createKey('full-admin', {rate_limit_per_minute: 1}),
  ];
  await node.api('POST', `auth/api-keys/${revoked.id}/revoke`);
  const full = good.find(({scope}) => scope === 'full-admin')?.key ?? '';
  return [full, full, full, ...good.map(({key}) => key), revoked.key, slow.key, null, 'mfk_', `${full}x`];
};

/** Objects that hostile clients may change and delete: their number stays the same. */
const createVictims = async (node: MailNode) => {
  const {key: admin} = await node.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  const domain = await node.createDomain();
  const {name: recipients} = await node.createDomain({name: 'held.test'});
  const values: PathValues = {
    domainId: domain.id,
    keyId: (await node.createKey('read-only')).id,
    nodeId: node.node_id,
    queueId: await holdLarge(node, recipients),
  };

  return {
    values,
    async replace({method, path, answer: {status, json}}: {method: string; path: string; answer: ApiAnswer}): Promise<void> {
      const bare = path.split('?')[0] ?? '';
      if (status === 201 && (bare === '/domains' || bare === '/auth/api-keys'))
        await node.api('DELETE', `${bare}/${json.data.id}`, {key: admin});
      if (status !== 200) return;
      if (method === 'POST' && bare.startsWith(`/mail/quarantine/${values.nodeId}/${values.queueId}/`))
        values.queueId = await holdLarge(node, recipients);
      if (method === 'DELETE' && bare === `/domains/${values.domainId}`) values.domainId = (await node.createDomain()).id;
      if (method === 'DELETE' && bare === `/auth/api-keys/${values.keyId}`) values.keyId = (await node.createKey('read-only')).id;
    },
  };
};

/** More than is kept in memory, so that its file is open while it is read. */
const holdLarge = async (node: MailNode, domain: string): Promise<string> => {
  const headers = `X-Filler: ${Array(2500).fill('x'.repeat(60)).join('\r\n ')}\r\n`;
  return (await node.hold({to: `a@${domain}`, headers})).queue_id;
};

/** Reads, changes and changes back, like an operator's script. */
const createGoodReader = (node: MailNode) => {
  const prepared = Promise.all([node.createDomain(), node.createKey('full-admin', {rate_limit_per_minute: 1_000_000})]);
  let threshold = 0;
  return async (): Promise<void> => {
    const [{id}, {key}] = await prepared;
    threshold = (threshold + 1) % 10;
    const put = await node.api('PUT', `domains/${id}`, {key, body: {quarantine_threshold: threshold}});
    const got = await node.api('GET', `domains/${id}`, {key});
    const list = await node.api('GET', 'mail/quarantine', {key});
    if (put.status !== 200 || got.json.data?.quarantine_threshold !== threshold || list.status !== 200)
      throw new Error(`${put.status} ${got.status} ${list.status} ${got.body}`);
  };
};

const statusesIn = (received: Buffer, bytes: Buffer): string[] =>
  [...received.toString('latin1').matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status = '']) => {
    if (status !== '100' && !declared.has(Number(status))) throw new Error(`answered ${status} ${shown(bytes)}`);
    return status;
  });
