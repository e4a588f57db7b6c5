// Two thousand slow connections on all ports, and well-behaved clients beside them.
import {readFile} from 'node:fs/promises';
import {request as requestHttp} from 'node:http';
import {Agent, request} from 'node:https';
import {connect as connectSocket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {createNetstringReader, netstring} from '../../daemon/mail/socketmap/socketmap-server.ts';
import type {MailNode} from '../helpers/mail-node.ts';
import {connectPeer} from '../helpers/milter.ts';
import {nodeCredentials} from '../helpers/peer-call.ts';
import {connect} from '../helpers/smtp-client.ts';
import type {Fault} from './fault.ts';
import {percentile} from './hostile.ts';
import {halfHandshake, type SlowTarget, startSlowSockets} from './slow-sockets.ts';
import {type Sockets, startSocketNode} from './socket-node.ts';

/** The time limit for a well-behaved client, met in 99 of 100 cases; the short form only requires that it is served. */
const wantedP99Ms = 200;
const goodPauseMs = 50;
const patienceMs = 10_000;

export const slowloris: Fault = {
  name: 'slowloris',
  title: 'sockets that dribble bytes, on every port',
  rounds: 2000,
  shortRounds: 120,
  pass: `good clients p99 ≤ ${wantedP99Ms} ms on each port`,

  async run({owner, rounds, isShort, randomOf, say}) {
    const {node, sockets} = await startSocketNode(owner);
    const good = await goodClients(node, sockets);
    const attacked = await slowTargets(node, sockets);
    const [quietMs, attackMs] = isShort ? [1000, 3000] : [10_000, 60_000];

    const quiet = await served(good, quietMs);
    const slow = startSlowSockets(randomOf(0), attacked, rounds);
    owner.teardown(slow.stop);
    // All of them have connected, and the first have been cut off.
    while (slow.counts().open < rounds * 0.95) await delay(100);
    say(`${slow.counts().open} sockets are open`);
    const beside = await served(good, attackMs);
    const {open, cutOff, bytes} = slow.counts();
    slow.stop();

    const violations = Object.entries(beside).flatMap(([port, {tookMs, failures}]) => [
      ...failures.slice(0, 3).map(failure => `${port}: a good client was not served: ${failure}`),
      ...(!isShort && percentile(tookMs, 0.99) > wantedP99Ms ? [`${port}: p99 ${percentile(tookMs, 0.99)} ms`] : []),
    ]);
    if (open < rounds * 0.5) violations.push(`only ${open} sockets were open at the end`);
    if (/"level":"(error|fatal)"/.test(node.log().replace(/^.*queue could not be read.*$/m, '')))
      violations.push(`logged: ${node.log().slice(0, 1000)}`);
    const figures = Object.entries(beside).map(([port, {tookMs}]) => [
      `${port} p50/p99 ms`,
      `${percentile(tookMs, 0.5)}/${percentile(tookMs, 0.99)} (quiet ${percentile(quiet[port]?.tookMs ?? [], 0.99)})`,
    ]);
    return {rounds, violations, figures: {...Object.fromEntries(figures), 'cut off': cutOff, bytes}};
  },
};

interface Served {
  tookMs: number[];
  failures: string[];
}

/** Every port gets requests all the time, each on a new connection. */
const served = async (clients: Record<string, () => Promise<void>>, forMs: number): Promise<Record<string, Served>> => {
  const endAt = performance.now() + forMs;
  const all = Object.entries(clients).map(async ([port, ask]): Promise<[string, Served]> => {
    const seen: Served = {tookMs: [], failures: []};
    while (performance.now() < endAt) {
      const startedAt = performance.now();
      const silence = delay(patienceMs, undefined, {ref: false}).then(() => Promise.reject(new Error('no answer')));
      await Promise.race([ask(), silence]).catch(error => seen.failures.push(String(error)));
      silence.catch(() => undefined);
      seen.tookMs.push(performance.now() - startedAt);
      await delay(goodPauseMs);
    }
    return [port, seen];
  });
  return Object.fromEntries(await Promise.all(all));
};

const goodClients = async (node: MailNode, {milter, tables}: Sockets): Promise<Record<string, () => Promise<void>>> => {
  const ca = await readFile(node.ca_file, 'utf8');
  const member = await nodeCredentials(node);
  const once = async (url: string, options: {headers?: Record<string, string>; key?: string; cert?: string}): Promise<void> => {
    const agent = url.startsWith('https')
      ? new Agent({ca, keepAlive: false, maxCachedSessions: 0, checkServerIdentity: () => undefined, ...options})
      : undefined;
    const status = await new Promise<number>((resolve, reject) => {
      const send = agent ? request : requestHttp;
      send(url, {...options, ...(agent && {agent})}, response =>
        response.resume().on('end', () => resolve(response.statusCode ?? 0)),
      )
        .on('error', reject)
        .end();
    });
    agent?.destroy();
    if (status !== 200) throw new Error(`answered ${status}`);
  };

  return {
    api: async () => once(`${node.api_url}/api/v1/auth/me`, {headers: {'X-API-Key': node.api_key}}),
    cluster: async () => once(`${node.cluster_url}/peer/v1/digests`, member),
    metrics: async () => once(`${node.metrics_url}/readyz`, {}),
    smtp: async () => {
      const client = await connect(node.smtpPort);
      const {code} = await client.cmd('EHLO good.test');
      client.destroy();
      if (code !== 250) throw new Error(`answered ${code}`);
    },
    milter: async () => {
      const peer = await connectPeer({path: milter});
      const {answers} = await peer.mail({to: ['ben@example.com']});
      peer.destroy();
      if (answers.at(-1)?.letter !== 'a') throw new Error(`answered ${answers.at(-1)?.letter}`);
    },
    socketmap: async () => lookUp(tables, 'relay_domains example.com'),
  };
};

const lookUp = async (path: string, question: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const reader = createNetstringReader(10_000);
    const socket = connectSocket({path}, () => socket.write(netstring(question)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
    socket.on('data', chunk => {
      const [reply] = reader.push(chunk);
      if (!reply) return;
      if (reply.toString().startsWith('OK ')) resolve();
      else reject(new Error(reply.toString()));
      socket.destroy();
    });
  });

const slowTargets = async (node: MailNode, {milter, tables}: Sockets): Promise<SlowTarget[]> => {
  const [api, cluster, metrics] = [node.api_url, node.cluster_url, node.metrics_url].map(url => ({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
  }));
  if (!api || !cluster || !metrics) throw new Error('a node has three ports for HTTP');
  const body = `POST /api/v1/domains HTTP/1.1\r\nHost: a\r\nX-API-Key: ${node.api_key}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`;
  const head = 'GET /api/v1/auth/me HTTP/1.1\r\nHost: a\r\n';
  return [
    {to: api, tls: {}, words: ['X-A: b\r\n'], openings: [head, body, '']},
    {to: cluster, tls: await nodeCredentials(node), words: ['X-A: b\r\n'], openings: [head, '']},
    {to: metrics, words: ['X-A: b\r\n'], openings: ['GET /metrics HTTP/1.1\r\nHost: a\r\n', '']},
    {
      to: {host: '127.0.0.1', port: node.smtpPort},
      isGreeted: true,
      words: ['NOOP\r\n', 'x', 'body\r\n'],
      openings: ['', 'EHLO a.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<ben@example.com>\r\nDATA\r\n'],
    },
    {
      to: {host: '127.0.0.1', port: node.smtpPort},
      isGreeted: true,
      words: [halfHandshake],
      openings: ['EHLO a.test\r\nSTARTTLS\r\n'],
    },
    {to: {path: milter}, words: ['\0\0\0\x0dO\0\0\0\x06\0\0\x01\xff\0\x1f\xff\xff', '\0\x01\0\0B'], openings: ['']},
    {to: {path: tables}, words: ['99999:x', '4:a b,']},
  ];
};
