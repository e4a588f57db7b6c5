// A real node with one domain and the backend that it delivers to, and common steps of mail tests.
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {HeldMail} from '../../shared/held-mail.ts';
import {formatHostPort} from '../../shared/host-port.ts';
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

export interface MailNode extends TestNode {
  sink: SmtpSink;
  domainId: number;
  /** From ada@example.net to ben@example.com by default. */
  send(raw: string | Buffer, sending?: Sending): Promise<Reply>;
  createDomain(domain: object): Promise<number>;
  updateDomain(changes: object): Promise<void>;
  /** One page of the held mails that match, newest first. */
  held(query?: string): Promise<Held[]>;
  /** All held mails, page by page. */
  allHeld(): Promise<Held[]>;
  /** The only held mail. */
  onlyHeld(): Promise<Held>;
  body(mail: Held): Promise<Buffer>;
  act(action: 'release' | 'discard', mail: Held): Promise<ApiAnswer>;
  /** Names of the files in one of the folders of the spool; held mail may be in the shared store instead. */
  spooled(folder: 'held' | 'tmp' | 'damaged'): Promise<string[]>;
}

export interface MailNodeOptions extends NodeOptions {
  sink?: SinkOptions;
  /** Members of the domain example.com, besides its name and its backend. */
  domain?: object;
}

/** Thresholds at which everything is held, or everything relayed, independent of its score. */
export const holdAll = {quarantine_threshold: -1000, reject_threshold: 10_000};
export const relayAll = {quarantine_threshold: 10_000, reject_threshold: 10_000};

export const startMailNode = async (owner: Owner, options: MailNodeOptions = {}): Promise<MailNode> => {
  const sink = await startSmtpSink(owner, options.sink);
  // No query reaches the name server of the machine.
  const smtp = {reverse_lookup: false, ...(options.config?.smtp as object | undefined)};
  const node = await startNode(owner, {...options, config: {authentication: {verify: false}, ...options.config, smtp}});

  const createDomain = async (domain: object): Promise<number> => {
    const {status, json, body} = await node.api('POST', 'domains', {body: domain});
    if (status !== 201) throw new Error(`POST /domains: ${status} ${body}`);
    return json.data.id;
  };
  const domainId = await createDomain({name: 'example.com', backend_servers: [formatHostPort(sink.server)], ...options.domain});
  const path = ({node_id, queue_id}: Held) => `mail/quarantine/${node_id}/${queue_id}`;
  const held = async (query = 'limit=1000'): Promise<Held[]> => {
    const {status, json, body} = await node.api('GET', `mail/quarantine?${query}`);
    if (status !== 200) throw new Error(`GET /mail/quarantine: ${status} ${body}`);
    return json.data;
  };

  return {
    ...node,
    sink,
    domainId,
    createDomain,
    held,
    async allHeld() {
      const mails: Held[] = [];
      for (;;) {
        const page = await held(`limit=1000&offset=${mails.length}`);
        mails.push(...page);
        if (page.length < 1000) return mails;
      }
    },
    send: async (raw, {from = 'ada@example.net', to = 'ben@example.com', parameters} = {}) =>
      (await sendMail({port: node.smtpPort, from, to, raw, ...(parameters !== undefined && {parameters})})).reply,
    updateDomain: async changes => {
      const {status, body} = await node.api('PUT', `domains/${domainId}`, {body: changes});
      if (status !== 200) throw new Error(`PUT /domains: ${status} ${body}`);
    },
    onlyHeld: async () => {
      const mails = await held();
      if (mails.length !== 1 || !mails[0]) throw new Error(`${mails.length} mails are held`);
      return mails[0];
    },
    body: async mail => {
      const {status, body} = await node.api('GET', `${path(mail)}/body`);
      if (status !== 200) throw new Error(`body of ${mail.queue_id}: ${status} ${body}`);
      return body;
    },
    act: async (action, mail) => node.api('POST', `${path(mail)}/${action}`),
    spooled: async folder => (folder === 'held' ? keptMails(node.data) : readdir(join(node.data, 'spool', folder))),
  };
};

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
