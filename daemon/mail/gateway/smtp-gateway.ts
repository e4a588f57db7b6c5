// SMTP listener: admits clients, and runs a session with each.
import {once} from 'node:events';
import {createServer, type Server, type Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {createSecureContext, type SecureContext} from 'node:tls';
import {type HostPort, plainAddress} from '../../../shared/host-port.ts';
import {withUnfailingObservers} from '../mail-observers.ts';
import {createMessageIntake} from '../message-intake.ts';
import {createRefusalLog} from '../refusal-log.ts';
import {replies} from '../smtp-reply.ts';
import {type ClientLimitNeeds, createClientLimits} from './clients.ts';
import {SmtpSession, type SmtpSessionNeeds, sendAway} from './smtp-session.ts';

interface TlsPair {
  key: string | Buffer;
  cert: string | Buffer;
}

export interface SmtpGatewayNeeds extends ClientLimitNeeds, Omit<SmtpSessionNeeds, 'secureContext' | 'onRefused' | 'messages'> {
  /** Port 0 takes a free one. */
  listen: HostPort;
  tls: TlsPair;
  /** How long `stop` waits for mails under way. */
  drainMs?: number;
  tmpDir: string;
}

export interface SmtpGateway {
  readonly address: HostPort;
  /** Uses this certificate for new clients. Throws, and changes nothing, when key and certificate do not match. */
  updateSecureContext(tls: TlsPair): void;
  /** Waits for mails under way, disconnects all other clients, and resolves when everything is closed. */
  stop(): Promise<void>;
}

/** For the clean-up after disconnected clients, such as files. */
const cleanUpMs = 1000;

/** Rejects with the error of the socket, such as EADDRINUSE, when it cannot listen. */
export const startSmtpGateway = async (given: SmtpGatewayNeeds): Promise<SmtpGateway> => {
  const needs = withUnfailingObservers(given);
  const {drainMs = 8000, log} = needs;
  const limits = createClientLimits(needs);
  const refusals = createRefusalLog(needs);
  const sessions = new Map<SmtpSession, Promise<void>>();
  let context = contextOf(needs.tls);
  let isStopping = false;
  const sessionNeeds: SmtpSessionNeeds = {
    ...needs,
    messages: createMessageIntake({tmpDir: needs.tmpDir, maxSizeBytes: needs.maxSize}),
    secureContext: () => context,
    onRefused: refusals.record,
  };

  const admit = (socket: Socket, ip: string): void => {
    const refusal = isStopping ? replies.shuttingDown : limits.admit(ip);
    if (refusal) {
      socket.on('error', () => undefined);
      sendAway(socket, refusal);
      return;
    }
    const session = new SmtpSession(sessionNeeds, socket, ip);
    const running = session.run();
    sessions.set(session, running);
    socket.once('close', () => {
      limits.leave(ip);
      void running.then(() => sessions.delete(session));
    });
  };
  const server = createServer({noDelay: true}, socket => {
    // Undefined for a client that is gone already.
    if (socket.remoteAddress === undefined) socket.destroy();
    else admit(socket, plainAddress(socket.remoteAddress));
  });
  // Registered before listening: Node throws an error event without a listener.
  server.on('error', error => log.info({err: error}, 'smtp client failed'));
  const address = await listen(server, needs.listen);

  return {
    address,
    updateSecureContext: tls => {
      context = contextOf(tls);
    },
    stop: async () => {
      isStopping = true;
      const closed = new Promise(resolve => server.close(resolve));
      for (const session of sessions.keys()) session.dismiss();
      await Promise.race([closed, delay(drainMs, undefined, {ref: false})]);
      for (const session of sessions.keys()) session.destroy();
      await Promise.race([Promise.all(sessions.values()), delay(cleanUpMs, undefined, {ref: false})]);
      refusals.flush();
    },
  };
};

const contextOf = (tls: TlsPair): SecureContext =>
  createSecureContext({...tls, minVersion: 'TLSv1.2', honorCipherOrder: true, sessionIdContext: 'mfd'});

const listen = async (server: Server, {host, port}: HostPort): Promise<HostPort> => {
  server.listen({port, host});
  await once(server, 'listening');
  const bound = server.address();
  return bound !== null && typeof bound === 'object' ? {host: bound.address, port: bound.port} : {host, port};
};
