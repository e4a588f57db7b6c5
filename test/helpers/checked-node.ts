// A node with short ways to create what tests need. Every answer is checked against the promises that all answers share, and
// against the administrators' API description.
import {connect} from 'node:tls';
import type {CreatedApiKey} from '../../shared/api-key.ts';
import type {Domain} from '../../shared/domain.ts';
import type {MailReference} from '../../shared/held-mail.ts';
import {formatHostPort, parseHostPort} from '../../shared/host-port.ts';
import type {Scope} from '../../shared/scopes.ts';
import type {ApiAnswer} from './api-call.ts';
import {createDescriptionCheck} from './description-check.ts';
import type {TestNode} from './node.ts';
import {sendMail} from './smtp-client.ts';
import type {SmtpSink} from './smtp-sink.ts';

interface HeldMailOptions {
  to: string | string[];
  from?: string;
  subject?: string;
  score?: number;
  /** Additional header lines, each with its CRLF. */
  headers?: string;
}

export interface ApiNode extends TestNode {
  sink: SmtpSink;
  /** host:port of the sink, for `backend_servers`. */
  backend: string;
  createDomain(fields?: Partial<Domain>): Promise<Domain>;
  createKey(scope: Scope, fields?: object): Promise<CreatedApiKey>;
  /** Sends a mail that the node holds. */
  hold(options: HeldMailOptions): Promise<MailReference>;
  /** Writes bytes to the API's port and reads until the server closes, or for `waitMs`. */
  raw(bytes: string | Buffer, waitMs?: number): Promise<string>;
}

export const createApiNode = (node: TestNode, sink: SmtpSink): ApiNode => {
  const backend = formatHostPort(sink.server);
  let made = 0;
  const next = () => {
    made += 1;
    return made;
  };

  let description = createDescriptionCheck(node);
  const api: TestNode['api'] = async (method, path, request = {}) => {
    const answer = await node.api(method, path, request);
    checkAnswer(node, `${method} ${path}`, answer);
    const faults = await description.faults({method, path, request}, answer);
    if (faults !== '')
      throw new Error(`${method} ${path} answered ${answer.status}: ${faults}: ${answer.body.toString().slice(0, 500)}`);
    return answer;
  };
  const create = async (path: string, body: object) => {
    const {status, json, body: text} = await api('POST', path, {body});
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
    return json.data;
  };

  return {
    ...node,
    api,
    runWith(program) {
      node.runWith(program);
      description = createDescriptionCheck(node);
    },
    sink,
    backend,
    createDomain: async fields =>
      create('domains', {name: `domain${next()}.${node.node_id.toLowerCase()}.test`, backend_servers: [backend], ...fields}),
    createKey: async (scope, fields) => create('auth/api-keys', {name: `key ${next()}`, scope, ...fields}),

    async hold({to, from = 'sender@outside.test', subject = 'offer', score = 8, headers = ''}) {
      const raw = `Subject: ${subject}\r\nX-Spam-Score: ${score}\r\n${headers}\r\nbody\r\n`;
      const {reply} = await sendMail({...parseHostPort(node.smtp), port: node.smtpPort, from, to, raw});
      const queue_id = / queued as (\w+)$/.exec(reply.text)?.[1];
      if (!queue_id) throw new Error(`not held: ${reply.code} ${reply.text}`);
      return {node_id: node.node_id, queue_id};
    },

    raw: async (bytes, waitMs = 20_000) =>
      new Promise((resolve, reject) => {
        const socket = connect({port: Number(new URL(node.api_url).port), host: '127.0.0.1', rejectUnauthorized: false});
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
      }),
  };
};

/** Content that no answer may have: traces of the program, its files, its SQL, or a secret. */
const leaks = [
  /^\s+at .+:\d+/m,
  /node_modules|\.[cm]?[jt]s:\d/,
  /SQLITE|\bselect .+ from\b|\binsert into\b/i,
  /key_hash|PRIVATE KEY/,
];

const checkAnswer = ({data}: TestNode, what: string, {status, headers, json, body}: ApiAnswer): void => {
  const fail = (problem: string): never => {
    throw new Error(`${what} answered ${status} ${problem}: ${body.toString().slice(0, 500)}`);
  };
  if (!/^[0-9a-f]{20}$/.test(String(headers['x-request-id']))) fail('without X-Request-Id');
  if (headers['content-type'] === 'text/rfc822') return;

  const text = body.toString();
  // A drift names the field, and so does an audit entry about a key that was left out. Neither says more than the name.
  const told = text
    .replaceAll('{"name":"key_hash","here":"(secret)","there":"(another)"}', '')
    .replaceAll(/\bapi_key \d+ \((?:[a-z_]*, )*key_hash(?=[,)…])/g, '');
  const leaked = leaks.map(leak => told.search(leak)).find(at => at >= 0);
  if (leaked !== undefined) fail(`with something internal, ${told.slice(Math.max(0, leaked - 500), leaked + 200)}`);
  if (told.includes(data)) fail('with the path of its data');
  if (/mfk_\w{38}/.test(text) && status !== 201) fail('with the value of a key');
  if (json) checkEnvelope(json, {status, requestId: String(headers['x-request-id'])}, fail);
};

const checkEnvelope = (
  json: ApiAnswer['json'],
  {status, requestId}: {status: number; requestId: string},
  fail: (problem: string) => never,
): void => {
  if (Object.keys(json).sort().join(' ') !== 'data error message') fail('in no envelope');
  if (status < 400) {
    const messages = status === 201 ? ['Created'] : ['OK', 'Partial'];
    if (json.error !== null || !messages.includes(json.message)) fail('as no success');
    return;
  }
  if (json.data !== null || typeof json.message !== 'string') fail('as no failure');
  const {code, detail, fields, required_scopes, request_id, ...more} = json.error;
  if (Object.keys(more).length > 0 || !/^[a-z_]+$/.test(code) || !detail || request_id !== requestId) fail('with a wrong error');
  if (fields !== undefined && !Array.isArray(fields)) fail('with wrong fields');
  if ((required_scopes !== undefined) !== (code === 'insufficient_scope')) fail('with scopes out of place');
};
