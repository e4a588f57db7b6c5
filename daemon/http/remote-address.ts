import type {IncomingMessage} from 'node:http';
import {plainAddress} from '../../shared/host-port.ts';

/** The client address of a request; null once the connection is closed. Headers are ignored: a proxy in front is the client. */
export const remoteAddressOf = ({socket: {remoteAddress}}: Pick<IncomingMessage, 'socket'>): string | null =>
  remoteAddress === undefined ? null : plainAddress(remoteAddress);
