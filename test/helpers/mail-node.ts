// A real node with the mail server that it delivers to, and short ways to do what tests need. `checked-node.ts` checks every answer.
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import {connect} from 'node:tls';
import type {CreatedApiKey} from '../../shared/api-key.ts';
import type {Domain} from '../../shared/domain.ts';
import type {HeldMail, MailReference} from '../../shared/held-mail.ts';
import {formatHostPort, parseHostPort} from '../../shared/host-port.ts';
import type {Scope} from '../../shared/scopes.ts';
import {checkedNode} from './checked-node.ts';
import type {Owner} from './daemon.ts';
import {type ApiAnswer, type NodeOptions, startNode, type TestNode} from './node.ts';
import {keptMails} from './node-store.ts';
import {type Reply, sendMail} from './smtp-client.ts';
import {type SinkOptions, type SmtpSink, startSmtpSink} from './smtp-sink.ts';

export {eventually} from './eventually.ts';

export type Held = HeldMail;

export interface Sending {
  from?: string;
  to?: string | string[];
  /** MAIL parameters such as SMTPUTF8. */
  parameters?: string;
}

interface HeldMailOptions {
  to: string | string[];
  from?: string;
  subject?: string;
  score?: number;
  /** Additional header lines, each with its CRLF. */
  headers?: string;
}

export interface MailNode extends TestNode {
  sink: SmtpSink;
  /** host:port of the sink, for `backend_servers`. */
  backend: string;
  /** Id of example.com; 0 without it. */
  domainId: number;
  /** The sink is the backend of the domain, unless `fields` say otherwise. */
  createDomain(fields?: Partial<Domain>): Promise<Domain>;
  updateDomain(id: number, changes: object): Promise<Domain>;
  createKey(scope: Scope, fields?: object): Promise<CreatedApiKey>;
  /** From ada@example.net to ben@example.com by default. */
  send(raw: string | Buffer, sending?: Sending): Promise<Reply>;
  /** Sends a mail that the node holds. */
  hold(options: HeldMailOptions): Promise<MailReference>;
  /** One page of the held mails that match, newest first. */
  held(query?: string): Promise<Held[]>;
  /** All held mails, page by page. */
  allHeld(): Promise<Held[]>;
  /** The only held mail. */
  onlyHeld(): Promise<Held>;
  body(mail: Held): Promise<Buffer>;
  act(action: 'release' | 'discard', mail: Held): Promise<ApiAnswer>;
  /** Names of the files in one of the folders of the spool; held mail may be in the common store instead. */
  spooled(folder: 'held' | 'tmp' | 'damaged'): Promise<string[]>;
  /** Writes bytes to the API's port and reads until the server closes, or for `waitMs`. */
  raw(bytes: string | Buffer, waitMs?: number): Promise<string>;
}

export interface MailNodeOptions extends NodeOptions {
  sink?: SinkOptions;
  /** Members of the domain example.com, besides its name and its backend; false: the node has no domain. */
  domain?: Partial<Domain> | false;
}

/** Thresholds at which everything is held, or everything relayed, independent of its score. */
export const holdAll = {quarantine_threshold: -1000, reject_threshold: 10_000};
export const relayAll = {quarantine_threshold: 10_000, reject_threshold: 10_000};

export const startMailNode = async (
  owner: Owner,
  {sink: sinkOptions, domain, ...options}: MailNodeOptions = {},
): Promise<MailNode> => {
  const sink = await startSmtpSink(owner, sinkOptions);
  // No query reaches the name server of the machine.
  const smtp = {reverse_lookup: false, ...(options.config?.smtp as object | undefined)};
  const config = {authentication: {verify: false}, ...options.config, smtp};
  const node = createMailNode(await startNode(owner, {...options, config}), sink);
  if (domain !== false) return {...node, domainId: (await node.createDomain({name: 'example.com', ...domain})).id};
  // Reading the API description takes a moment. It is read here so that no test waits for it with its first answer.
  await node.api('HEAD', 'openapi-admin.yaml', {key: null});
  return node;
};

/** A node that runs already, with this mail server. */
export const createMailNode = (unchecked: TestNode, sink: SmtpSink): MailNode => {
  const node = checkedNode(unchecked);
  const backend = formatHostPort(sink.server);
  let made = 0;
  const next = () => {
    made += 1;
    return made;
  };
  const ask = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
    const answer = await node.api(method, path, {body});
    if (answer.status >= 300) throw new Error(`${method} ${path} of ${node.node_id}: ${answer.status} ${answer.body}`);
    return answer;
  };
  const dataOf = async (...request: Parameters<typeof ask>) => (await ask(...request)).json.data;
  const path = ({node_id, queue_id}: Held) => `mail/quarantine/${node_id}/${queue_id}`;
  const held = async (query = 'limit=1000'): Promise<Held[]> => dataOf('GET', `mail/quarantine?${query}`);
  const send = async (raw: string | Buffer, {from = 'ada@example.net', to = 'ben@example.com', parameters}: Sending = {}) =>
    (
      await sendMail({
        ...parseHostPort(node.smtp),
        port: node.smtpPort,
        from,
        to,
        raw,
        ...(parameters !== undefined && {parameters}),
      })
    ).reply;

  return {
    ...node,
    ...{sink, backend, held, send},
    domainId: 0,
    createDomain: async fields =>
      dataOf('POST', 'domains', {
        name: `domain${next()}.${node.node_id.toLowerCase()}.test`,
        ...(fields?.direction !== 'outbound' && {backend_servers: [backend]}),
        ...fields,
      }),
    updateDomain: async (id, changes) => dataOf('PUT', `domains/${id}`, changes),
    createKey: async (scope, fields) => dataOf('POST', 'auth/api-keys', {name: `key ${next()}`, scope, ...fields}),

    async hold({to, from = 'sender@outside.test', subject = 'offer', score = 8, headers = ''}) {
      const reply = await send(`Subject: ${subject}\r\nX-Spam-Score: ${score}\r\n${headers}\r\nbody\r\n`, {from, to});
      const queue_id = / queued as (\w+)$/.exec(reply.text)?.[1];
      if (!queue_id) throw new Error(`not held: ${reply.code} ${reply.text}`);
      return {node_id: node.node_id, queue_id};
    },
    async allHeld() {
      const mails: Held[] = [];
      for (;;) {
        const page = await held(`limit=1000&offset=${mails.length}`);
        mails.push(...page);
        if (page.length < 1000) return mails;
      }
    },
    onlyHeld: async () => {
      const mails = await held();
      if (mails.length !== 1 || !mails[0]) throw new Error(`${mails.length} mails are held`);
      return mails[0];
    },
    body: async mail => (await ask('GET', `${path(mail)}/body`)).body,
    act: async (action, mail) => node.api('POST', `${path(mail)}/${action}`),
    spooled: async folder => (folder === 'held' ? keptMails(node.data) : readdir(join(node.data, 'spool', folder))),
    raw: async (bytes, waitMs = 20_000) => rawAnswer(node, bytes, waitMs),
  };
};

const rawAnswer = async ({api_url}: TestNode, bytes: string | Buffer, waitMs: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({port: Number(new URL(api_url).port), host: '127.0.0.1', rejectUnauthorized: false});
    let received = '';
    const timer = setTimeout(() => socket.destroy(), waitMs);
    socket.on('error', error => ('code' in error && error.code === 'ECONNRESET' ? undefined : reject(error)));
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
    socket.write(bytes);
  });

/** Splits a mail handed out by a node into the node's `Received` field and the rest. */
export const splitTrace = (bytes: Buffer): {trace: string; rest: Buffer} => {
  const trace = /^Received: [^\r\n]*\r\n(?:[\t ][^\r\n]*\r\n)*/.exec(bytes.subarray(0, 4096).toString('latin1'))?.[0] ?? '';
  return {trace, rest: bytes.subarray(trace.length)};
};

/** Text in SMTP's form: every line ends in CRLF, the last one too. */
export const onTheWire = (bytes: Buffer): Buffer => {
  const text = bytes.toString('latin1').replace(/\r?\n/g, '\r\n');
  return Buffer.from(text === '' || text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1');
};
