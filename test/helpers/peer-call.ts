// Requests to a cluster port with any client certificate that a test chooses.
import {X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import {readFile} from 'node:fs/promises';
import {Agent, request} from 'node:https';
import {join} from 'node:path';
import {connect, type TLSSocket} from 'node:tls';
import {ticketKey} from '../../daemon/cluster/certificates.ts';
import {decodeJoinToken} from '../../daemon/cluster/join-token.ts';
import type {TestNode} from './node.ts';

export interface Credentials {
  key: string;
  cert: string;
}

type Target = Pick<TestNode, 'cluster_url' | 'ca_file'>;

export const nodeCredentials = async ({data}: Pick<TestNode, 'data'>, name = 'node'): Promise<Credentials> => {
  const [key, cert] = await Promise.all(['key', 'crt'].map(end => readFile(join(data, 'tls', `${name}.${end}`), 'utf8')));
  return {key: key ?? '', cert: cert ?? ''};
};

export const tokenCredentials = (token: string): Credentials => {
  const {seed, certificate} = decodeJoinToken(token);
  return {key: ticketKey(seed), cert: new X509Certificate(certificate).toString()};
};

/** Rejects when the connection is refused or broken off. */
export const callPeer = async (
  target: Target,
  credentials: Credentials | undefined,
  {method = 'GET', path, body}: {method?: string; path: string; body?: unknown},
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
): Promise<{status: number; json: any}> => {
  const ca = await readFile(target.ca_file, 'utf8');
  // Host names are for clients of the API: nodes recognise each other by other parts of their certificates.
  const agent = new Agent({...credentials, ca, checkServerIdentity: () => undefined});
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    return await new Promise((resolve, reject) => {
      const headers = text === undefined ? {} : {'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text)};
      const sent = request(`${target.cluster_url}/peer/v1/${path}`, {method, agent, headers}, response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({status: response.statusCode ?? 0, json: JSON.parse(Buffer.concat(chunks).toString())}));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(text);
    });
  } finally {
    agent.destroy();
  }
};

/** Fingerprint of the certificate that the server presents to a new connection. */
export const shownAt = async (url: string): Promise<string> => {
  const {hostname: host, port} = new URL(url);
  const socket = connect({host, port: Number(port), rejectUnauthorized: false}).on('error', () => {});
  await once(socket, 'secureConnect');
  const {fingerprint256} = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
};

export interface OpenConnection {
  socket: TLSSocket;
  isOpen(): boolean;
  /** Resolves when the other end has closed it. */
  closed: Promise<void>;
}

/** A connection that has completed the handshake and sends nothing. */
export const openConnection = async (target: Target, credentials: Credentials): Promise<OpenConnection> => {
  const ca = await readFile(target.ca_file, 'utf8');
  const {hostname: host, port} = new URL(target.cluster_url);
  const socket = connect({host, port: Number(port), ...credentials, ca, checkServerIdentity: () => undefined});
  const closed = new Promise<void>(resolve => {
    socket.once('close', () => resolve());
  });
  socket.on('error', () => {});
  await new Promise<void>((resolve, reject) => {
    // The server sends its TLS session tickets once it has checked the certificate.
    socket.once('session', () => resolve());
    socket.once('close', () => reject(new Error('closed at once')));
  });
  return {socket, isOpen: () => !socket.destroyed, closed};
};
