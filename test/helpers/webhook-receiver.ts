// Receiver of webhooks, which verifies everything with the package of the standard.
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import {createServer as createTlsServer} from 'node:https';
import {text} from 'node:stream/consumers';
import {Webhook} from 'standardwebhooks';
import type {MailEvent} from '../../shared/mail-event.ts';
import type {Owner} from './daemon.ts';
import {listening} from './listening.ts';

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export interface Delivery {
  id: string;
  type: string;
  timestamp: string;
  data: MailEvent & {number: number};
}

/** What it answers: a status, or by itself. */
type Answer = (delivery: Delivery, response: ServerResponse) => number | undefined | Promise<number | undefined>;

interface Options {
  answer?: Answer;
  /** Serves HTTPS. */
  tls?: {key: string; cert: string};
  port?: number;
}

export const startReceiver = async (owner: Owner, options: Options = {}) => {
  const received: Delivery[] = [];
  const forged: string[] = [];
  const receiver = {received, forged, secret, answer: options.answer ?? ((() => 204) as Answer), url: ''};

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const id = String(request.headers['webhook-id']);
    try {
      new Webhook(receiver.secret).verify(body, request.headers as Record<string, string>);
    } catch (error) {
      forged.push(`${id}: ${error}`);
      response.writeHead(401).end();
      return;
    }
    const delivery: Delivery = {id, ...(JSON.parse(body) as Omit<Delivery, 'id'>)};
    received.push(delivery);
    const status = await receiver.answer(delivery, response);
    if (status !== undefined) response.writeHead(status).end();
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse) => void take(request, response).catch(() => {});
  const server = options.tls ? createTlsServer(options.tls, onRequest) : createServer(onRequest);
  const port = await listening(owner, server, {port: options.port ?? 0});
  receiver.url = `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`;
  return receiver;
};
