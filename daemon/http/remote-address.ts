import type {IncomingMessage} from 'node:http';
import {plainAddress} from '../../shared/host-port.ts';

/** Where a request comes from; null once its connection has gone. No header can say otherwise: a proxy in front is the client. */
export const remoteAddressOf = ({socket: {remoteAddress}}: Pick<IncomingMessage, 'socket'>): string | null =>
  remoteAddress === undefined ? null : plainAddress(remoteAddress);
