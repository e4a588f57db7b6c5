// Whether other nodes can reach one at the address that it tells them: found out before anybody relies on it.
import {once} from 'node:events';
import {connect, createServer} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import {formatHostPort, type HostPort} from '../../shared/host-port.ts';
import type {PeerClient} from './peer-client.ts';

/** POST /reach: the asker’s address as the asked node knows it, and why no connection to it can be had from there. */
export const reachAnswerSchema = z.object({address: z.string().max(300), why: z.string().max(300).nullable()});
export type ReachAnswer = z.infer<typeof reachAnswerSchema>;

const connectMs = 3000;
const answerMs = 8000;
const acceptMs = 1000;

/** Tries a TCP connection, and sends nothing. */
export const tryToReach = async (at: HostPort | undefined): Promise<ReachAnswer> => {
  if (!at) return {address: '', why: 'it has said no address'};
  const address = formatHostPort(at);
  const socket = connect(at);
  try {
    await once(socket, 'connect', {signal: AbortSignal.timeout(connectMs)});
    return {address, why: null};
  } catch (error) {
    const {code, name, message} = error as NodeJS.ErrnoException;
    if (name === 'AbortError') return {address, why: `no answer within ${connectMs / 1000} s`};
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return {address, why: 'that name cannot be looked up there'};
    return {address, why: code === 'ECONNREFUSED' ? 'the connection is refused' : message.slice(0, 300)};
  } finally {
    socket.destroy();
  }
};

/**
 * Listens where this node is about to, and has another node try to reach it there. Resolves with what is wrong, in a sentence;
 * undefined when nothing is, or when that cannot be found out here.
 */
export const findWhyUnreached = async (client: PeerClient, listen: HostPort): Promise<string | undefined> => {
  const server = createServer(socket => socket.destroy());
  const reached = new Promise<true>(resolve => server.once('connection', () => resolve(true)));
  try {
    server.listen(listen.port, listen.host);
    await once(server, 'listening');
  } catch {
    // Whoever starts the node is told.
    return undefined;
  }
  try {
    const {address, why} = await client.ask(reachAnswerSchema, {method: 'POST', path: 'reach', deadlineMs: answerMs});
    if (why !== null) return `node ${client.nodeId} cannot reach this one at ${address}: ${why}`;
    // The system takes the connection before this process hears of it: the answer may come first.
    const isReached = await Promise.race([reached, delay(acceptMs, false, {ref: false})]);
    return isReached ? undefined : `at ${address} node ${client.nodeId} reaches another machine than this one`;
  } catch (error) {
    // A node of a version before 0.5 does not know the question.
    if (error instanceof Fault) return undefined;
    throw error;
  } finally {
    server.close();
  }
};
