// Check whether other nodes can connect to this node at its published address, before anything relies on it.
import {once} from 'node:events';
import {connect, createServer} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../shared/fault.ts';
import {formatHostPort, type HostPort} from '../../shared/host-port.ts';
import {messages, type ReachAnswer} from '../services/cluster/peer-protocol.ts';
import type {PeerClient} from './peer-client.ts';

const connectMs = 3000;
const answerMs = 8000;
const acceptMs = 1000;

/** Opens a TCP connection, and sends nothing. */
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
 * Listens at the node's future address, and asks another node to connect to it. Resolves with the problem in a sentence, or with
 * undefined when there is none, or when the check is impossible.
 */
export const findReachProblem = async (client: PeerClient, listen: HostPort): Promise<string | undefined> => {
  const server = createServer(socket => socket.destroy());
  const reached = new Promise<true>(resolve => server.once('connection', () => resolve(true)));
  try {
    server.listen(listen.port, listen.host);
    await once(server, 'listening');
  } catch {
    // The start of the node will report this error.
    return undefined;
  }
  try {
    const {address, why} = await client.ask(messages.reach.answer, {...messages.reach.at, deadlineMs: answerMs});
    if (why !== null) return `node ${client.nodeId} cannot reach this one at ${address}: ${why}`;
    // The system accepts the connection before this process receives it, so the answer may arrive first.
    const isReached = await Promise.race([reached, delay(acceptMs, false, {ref: false})]);
    return isReached ? undefined : `at ${address} node ${client.nodeId} reaches another machine than this one`;
  } catch (error) {
    // Versions before 0.5 do not know this request.
    if (error instanceof Fault) return undefined;
    throw error;
  } finally {
    server.close();
  }
};
