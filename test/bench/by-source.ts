import {alternate, timed} from './alternate.ts';
import type {BenchContext} from './bench.ts';
import {mailsPerSecond, reportRatios} from './ratios.ts';
import {sendBySource} from './smtp-source.ts';

interface Compared {
  /** Port of the server that the others are compared with. */
  anchor: number;
  /** The port for each row. */
  rows: Record<string, number>;
  /** Clients at once. */
  sessions?: number;
  count: number;
  /** False: a session for each mail. */
  isKept: boolean;
  warmUps: number;
  /** Resolves when what was taken has been delivered. */
  isDone?(): Promise<void>;
}

/** Mails a second from clients of smtp-source, to one server after the other. */
export const compareBySource = async (context: BenchContext, compared: Compared): Promise<void> => {
  const {anchor, rows, sessions = 8, count, isKept, warmUps, isDone} = compared;
  const rate = (port: number) => async (): Promise<number> => {
    const tookMs = await timed(async () => sendBySource(port, {sessions, count, isKept}));
    await isDone?.();
    return (count * 1000) / tookMs;
  };
  const works = Object.fromEntries(Object.entries({...rows, anchor}).map(([name, port]) => [name, rate(port)]));
  const rates = await alternate(works, {rounds: context.isQuick ? 3 : 5, warmUps});
  for (const row of Object.keys(rows))
    reportRatios(context, row, {own: rates[row] ?? [], anchor: rates.anchor ?? [], text: mailsPerSecond});
};
