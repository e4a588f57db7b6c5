// Connections that send a byte now and then for as long as possible, and reconnect when they are cut off.
import {connect, type NetConnectOpts, type Socket} from 'node:net';
import {type ConnectionOptions, connect as connectTls} from 'node:tls';
import type {Random} from './random.ts';

export interface SlowTarget {
  to: NetConnectOpts;
  /** When given, some of them complete the handshake, with these options. */
  tls?: ConnectionOptions;
  /** Texts that they send slowly and never finish; one is picked for each connection. */
  words: readonly string[];
  /** Sent at once, or after the greeting of a server that speaks first. */
  openings?: readonly string[];
  isGreeted?: boolean;
}

export interface SlowSockets {
  counts(): {open: number; cutOff: number; bytes: number};
  stop(): void;
}

const tickMs = 100;
/** Between two bytes of one connection. */
const pauseTicks = 12;
/** Connections opened in one tick: all at once would be another kind of attack. */
const openedATick = 60;
/** The first bytes of a ClientHello, whose length promises more. */
export const halfHandshake = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03';

export const startSlowSockets = (random: Random, targets: readonly SlowTarget[], count: number): SlowSockets => {
  const seats = Array.from({length: count}, (_, n) => ({target: targets[n % targets.length] as SlowTarget, n}));
  const waiting = [...seats];
  const open = new Map<Socket, {text: string; at: number; n: number}>();
  let [cutOff, bytes, tick] = [0, 0, 0];
  let isOver = false;

  const enter = (seat: (typeof seats)[number]): void => {
    const {target, n} = seat;
    const isPast = target.tls !== undefined && random.chance(0.5);
    const socket: Socket = isPast
      ? connectTls({...target.tls, ...(target.to as ConnectionOptions), rejectUnauthorized: false})
      : connect(target.to);
    const text = target.tls && !isPast ? halfHandshake : random.pick(target.words);
    socket.on('error', () => undefined).resume();
    const welcome = target.isGreeted ? 'data' : isPast ? 'secureConnect' : 'connect';
    socket.once(welcome, () => {
      if (target.openings && (isPast || !target.tls)) socket.write(random.pick(target.openings));
    });
    socket.once('close', () => {
      open.delete(socket);
      if (isOver) return;
      cutOff += 1;
      waiting.push(seat);
    });
    open.set(socket, {text, at: 0, n});
  };

  const timer = setInterval(() => {
    tick += 1;
    for (const seat of waiting.splice(0, openedATick)) enter(seat);
    for (const [socket, state] of open) {
      if (socket.connecting || (state.n + tick) % pauseTicks !== 0) continue;
      socket.write(state.text.charAt(state.at % state.text.length), 'latin1');
      state.at += 1;
      bytes += 1;
    }
  }, tickMs);

  return {
    counts: () => ({open: open.size, cutOff, bytes}),
    stop() {
      isOver = true;
      clearInterval(timer);
      for (const socket of open.keys()) socket.destroy();
    },
  };
};
