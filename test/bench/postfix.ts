// How many mails a second a Postfix takes without the milter, and with it over a unix socket and over TCP, in alternation:
// npm run bench:postfix. Needs Postfix, and root to start it.
import {setTimeout as sleep} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import {eventually} from '../helpers/eventually.ts';
import {type MilterNode, startMilterNode} from '../helpers/milter-node.ts';
import type {PrivatePostfix} from '../helpers/postfix.ts';
import {connect} from '../helpers/smtp-client.ts';
import {quantilesOf} from './quantiles.ts';

const rounds = 7;
const sessions = 8;
const mailsPerSession = 50;
const body = `${'x'.repeat(76)}\r\n`.repeat(128);
const raw = `From: Ada <ada@example.net>\r\nTo: ben@example.com\r\nSubject: bench\r\nDate: Tue, 04 Nov 2025 09:12:44 +0100\r\nMessage-ID: <bench@example.net>\r\n\r\n${body}`;

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

const teardowns: (() => unknown)[] = [];
const context = {teardown: (end: () => unknown) => void teardowns.push(end)} as unknown as ExecutionContext;
const out = (line: string) => process.stdout.write(`${line}\n`);

try {
  const settings = {relay_transport: 'discard:', default_transport: 'discard:', in_flow_delay: '0'};
  const open = async (isOverTcp: boolean): Promise<MilterNode> =>
    startMilterNode(context, {isOverTcp, settings, config: {log: {level: 'warn'}}});
  const unix = await open(false);
  const tcp = await open(true);
  const variants = [
    ['no milter', ''],
    ['unix socket', unix.milter],
    ['TCP', tcp.milter],
  ] as const;

  out(`${rounds} rounds, ${sessions} sessions of ${mailsPerSession} mails of 10 KB each; mails a second`);
  const figures = new Map<string, number[]>(variants.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, milters] of variants) figures.get(name)?.push(await measure(unix.postfix, milters));
    out(variants.map(([name]) => `${name} ${figures.get(name)?.at(-1)?.toFixed(0)}`).join('   '));
  }
  for (const [name, all] of figures) out(`median ${name.padEnd(12)} ${quantilesOf(all).p50.toFixed(0).padStart(6)}`);
} finally {
  for (const end of teardowns.reverse()) await end();
}
