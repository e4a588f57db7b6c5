// How many mails a second a Postfix takes with the milter, over a unix socket and over TCP, and without one.
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../helpers/eventually.ts';
import {type MilterNode, startMilterNode} from '../helpers/milter-node.ts';
import {type PrivatePostfix, postfixMissing} from '../helpers/postfix.ts';
import {connect} from '../helpers/smtp-client.ts';
import {alternate} from './alternate.ts';
import type {Bench, BenchContext} from './bench.ts';
import {quantilesOf} from './quantiles.ts';

const sessions = 8;
const mailsPerSession = 50;
const body = `${'x'.repeat(76)}\r\n`.repeat(128);
const raw = `From: Ada <ada@example.net>\r\nTo: ben@example.com\r\nSubject: bench\r\nDate: Tue, 04 Nov 2025 09:12:44 +0100\r\nMessage-ID: <bench@example.net>\r\n\r\n${body}`;

export const milter: Bench = {
  name: 'milter',
  seconds: 60,
  isExtra: true,
  rows: [
    {
      name: 'milter-unix',
      title: 'mails a second through Postfix with the milter on a unix socket',
      anchor: 'the same Postfix without a milter',
      wanted: {atLeast: 0.35},
      unit: '×',
    },
    {
      name: 'milter-tcp',
      title: 'the same over TCP',
      anchor: 'the same Postfix without a milter',
      wanted: {atLeast: 0.3},
      unit: '×',
    },
  ],

  async run({owner, isQuick, report}: BenchContext) {
    const missing = postfixMissing();
    if (missing !== undefined) {
      for (const {name} of milter.rows) report(name, {missing});
      return;
    }
    const settings = {relay_transport: 'discard:', default_transport: 'discard:', in_flow_delay: '0'};
    const open = async (isOverTcp: boolean): Promise<MilterNode> =>
      startMilterNode(owner, {isOverTcp, settings, config: {log: {level: 'warn'}}});
    const unix = await open(false);
    const tcp = await open(true);

    const rates = await alternate(
      {
        none: async () => measure(unix.postfix, ''),
        unix: async () => measure(unix.postfix, unix.milter),
        tcp: async () => measure(unix.postfix, tcp.milter),
      },
      {rounds: isQuick ? 2 : 7},
    );
    const none = quantilesOf(rates.none).p50;
    for (const way of ['unix', 'tcp'] as const) {
      const own = quantilesOf(rates[way]).p50;
      report(`milter-${way}`, {value: own / none, own: `${Math.round(own)}/s`, anchor: `${Math.round(none)}/s`});
    }
  },
};

const session = async (port: number): Promise<void> => {
  const client = await connect(port);
  await client.cmd('EHLO client.test');
  for (let n = 0; n < mailsPerSession; n += 1) {
    await client.cmd('MAIL FROM:<ada@example.net>');
    await client.cmd('RCPT TO:<ben@example.com>');
    const {code, text} = await client.data(raw);
    if (code !== 250) throw new Error(`${code} ${text}`);
  }
  await client.cmd('QUIT');
};

/** Mails a second, until the last of them is accepted. */
const measure = async (postfix: PrivatePostfix, milters: string): Promise<number> => {
  await postfix.configure({smtpd_milters: milters});
  await sleep(1000);
  // Its processes are started by the first connections.
  await Promise.all(Array.from({length: sessions}, async () => connect(postfix.port).then(client => client.cmd('QUIT'))));

  const startedAt = performance.now();
  await Promise.all(Array.from({length: sessions}, async () => session(postfix.port)));
  const seconds = (performance.now() - startedAt) / 1000;
  await eventually(async () => (await postfix.queue()).length === 0);
  return (sessions * mailsPerSession) / seconds;
};
