// Socketmap listener: lookup tables for Postfix over a socket (socketmap_table(5)). A request is `TABLE KEY`, a reply is such as
// `OK VALUE`, both as netstrings. A connection carries many requests, one after the other.
import type {Socket} from 'node:net';
import {unfailing} from '../../services/unfailing.ts';
import {drained, type LocalAddress, listenLocal} from '../local-listener.ts';

export type TableAnswer =
  | {kind: 'found'; value: string}
  | {kind: 'absent'}
  /** No answer is possible now; the mail has to wait. */
  | {kind: 'unavailable'; reason: string}
  /** An error in Postfix's configuration. The mail waits until it is corrected. */
  | {kind: 'refused'; reason: string};

export interface SocketmapNeeds {
  listen: LocalAddress;
  /** May reject; Postfix then gets a temporary failure. */
  lookUp(table: string, key: string): Promise<TableAnswer> | TableAnswer;
  onFailure(error: unknown): void;
  maxConnections?: number;
  /** How long a connection may be idle. Postfix closes its connections after 10 s. */
  idleMs?: number;
}

/** Postfix accepts replies up to this size, and its longest keys are far shorter. */
const maxRequestBytes = 100_000;

export const startSocketmapServer = async (needs: SocketmapNeeds) => {
  const {maxConnections = 2000, idleMs = 120_000} = needs;
  const open = new Map<Socket, {finish(): void}>();
  let isStopping = false;

  const listener = await listenLocal(needs.listen, socket => {
    // Each process of Postfix has one connection. A refused process tries once more, then its mail waits.
    if (isStopping || open.size >= maxConnections) {
      socket.destroy();
      return;
    }
    open.set(socket, serve(socket, {...needs, idleMs}));
    socket.once('close', () => open.delete(socket));
  });
  return {
    /** The address with the actual port if port 0 was requested. */
    address: listener.address,
    /** Accepts no more requests, and answers pending ones within `graceMs`. */
    async stop(graceMs: number): Promise<void> {
      isStopping = true;
      const closed = Promise.all([listener.stop(), ...[...open.keys()].map(socketClosed)]);
      for (const {finish} of open.values()) finish();
      const deadline = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(deadline);
    },
  };
};

const socketClosed = async (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });

/** Answers in order. Reads more only when all earlier requests are answered and the peer has read the answers. */
const serve = (socket: Socket, needs: SocketmapNeeds & {idleMs: number}): {finish(): void} => {
  const reader = createNetstringReader(maxRequestBytes);
  let isAnswering = false;
  let isLast = false;

  const answer = async (requests: Buffer[]): Promise<void> => {
    isAnswering = true;
    socket.pause();
    for (const request of requests) {
      const reply = netstring(replyText(await answerTo(request, needs)));
      if (socket.destroyed) return;
      if (!socket.write(reply)) await drained(socket);
    }
    isAnswering = false;
    if (isLast) socket.end();
    // Resumed also to notice the end of the connection.
    socket.resume();
  };

  socket.setTimeout(needs.idleMs, () => {
    // Not during a lookup, which may take longer while the client still waits.
    if (!isAnswering) socket.destroy();
  });
  socket.on('error', () => socket.destroy());
  socket.on('data', chunk => {
    if (isLast) return;
    try {
      const requests = reader.push(chunk);
      if (requests.length > 0) void answer(requests);
    } catch {
      // The start of the next request is unknown. Postfix repeats the request on a new connection.
      socket.destroy();
    }
  });
  return {
    finish() {
      isLast = true;
      if (!isAnswering) socket.destroy();
    },
  };
};

const answerTo = async (request: Buffer, {lookUp, onFailure}: SocketmapNeeds): Promise<TableAnswer> => {
  const text = request.toString();
  const space = text.indexOf(' ');
  if (space < 0) return {kind: 'refused', reason: 'a request is a table, a space, and a key'};
  try {
    return await lookUp(text.slice(0, space), text.slice(space + 1));
  } catch (error) {
    unfailing(onFailure)(error);
    return {kind: 'unavailable', reason: 'internal error, see the log of mfd'};
  }
};

const replyText = (answer: TableAnswer): string => {
  switch (answer.kind) {
    case 'found':
      return `OK ${answer.value}`;
    case 'absent':
      return 'NOTFOUND ';
    case 'unavailable':
      return `TEMP ${answer.reason}`;
    case 'refused':
      return `PERM ${answer.reason}`;
    default:
      return answer satisfies never;
  }
};

export class MalformedNetstring extends Error {
  override name = 'MalformedNetstring';
}

const [zero, nine, colon, comma] = ['0', '9', ':', ','].map(sign => sign.charCodeAt(0)) as [number, number, number, number];

/** Buffers at most `maxBytes` and a few digits, whatever length is announced. */
export const createNetstringReader = (maxBytes: number) => {
  const maxDigits = String(maxBytes).length;
  let digits = '';
  /** Missing bytes of the current netstring, including its comma; undefined while its length is read. */
  let missing: number | undefined;
  let parts: Buffer[] = [];

  /** Reads the length up to its colon; returns the index after the colon. */
  const readLength = (chunk: Buffer, from: number): number => {
    for (let at = from; at < chunk.length; at += 1) {
      const sign = chunk[at] ?? 0;
      if (sign === colon && digits !== '') {
        missing = Number(digits) + 1;
        if (missing > maxBytes + 1) throw new MalformedNetstring(`a netstring of ${digits} bytes, at most ${maxBytes} are taken`);
        return at + 1;
      }
      if (sign < zero || sign > nine || digits === '0' || digits.length >= maxDigits)
        throw new MalformedNetstring('no length where a netstring should begin');
      digits += String.fromCharCode(sign);
    }
    return chunk.length;
  };

  /** Reads up to `missing` bytes; returns the netstring without its comma once it is complete. */
  const readRest = (chunk: Buffer): Buffer | undefined => {
    missing = (missing ?? 0) - chunk.length;
    // Copied, as a part that waits for the rest must not keep its whole chunk in memory.
    parts.push(missing > 0 ? Buffer.from(chunk) : chunk);
    if (missing > 0) return undefined;

    const whole = Buffer.concat(parts);
    if (whole.at(-1) !== comma) throw new MalformedNetstring('a netstring does not end where it said');
    [digits, missing, parts] = ['', undefined, []];
    return whole.subarray(0, -1);
  };

  return {
    /** The netstrings that `chunk` completes, in order. Throws a `MalformedNetstring` for other bytes; the reader is unusable then. */
    push(chunk: Buffer): Buffer[] {
      const complete: Buffer[] = [];
      for (let at = 0; at < chunk.length; ) {
        if (missing === undefined) at = readLength(chunk, at);
        const part = chunk.subarray(at, at + (missing ?? 0));
        at += part.length;
        const whole = part.length > 0 ? readRest(part) : undefined;
        if (whole) complete.push(whole);
      }
      return complete;
    },
  };
};

export const netstring = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${bytes.length}:`), bytes, Buffer.from(',')]);
};
