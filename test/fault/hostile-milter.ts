// Packets that no Postfix would send to its milter, and lookups that it would not make: each gets an answer, or the connection
// ends.
import {connect} from 'node:net';
import {createNetstringReader, netstring} from '../../daemon/mail/socketmap/socketmap-server.ts';
import {connectPeer} from '../helpers/milter.ts';
import type {Fault} from './fault.ts';
import {createTally, exchange, runHostile, shown} from './hostile.ts';
import {milterBytes, socketmapBytes} from './hostile-milter-input.ts';
import {createMemoryProbe} from './memory-probe.ts';
import {startSocketNode} from './socket-node.ts';

export const hostileMilter: Fault = {
  name: 'hostile-milter',
  title: 'generated milter packets and socketmap lookups',
  rounds: 100_000,
  shortRounds: 1000,
  pass: 'no crash, no internal error, no undeclared answer, memory and open files flat, a good client served',
  async run(context) {
    const memory = await createMemoryProbe(context.owner);
    const {
      node,
      sockets: {milter, tables},
    } = await startSocketNode(context.owner, {env: memory.env, config: {smtp: {max_size: '128K'}}});
    const answers = createTally();

    return runHostile(context, {
      node,
      memory,
      concurrency: 24,
      async session(random) {
        const isLookup = random.chance(0.25);
        const {bytes, inputs} = isLookup ? socketmapBytes(random) : milterBytes(random);
        const received = await exchange(connect({path: isLookup ? tables : milter}), bytes, {isBrokenOff: random.chance(0.1)});
        for (const answer of isLookup ? lookupsIn(received) : repliesIn(received)) {
          answers.add(answer);
          if (/Local error|internal|SQLITE/.test(answer)) throw new Error(`answered ${answer} ${shown(bytes)}`);
        }
        return inputs;
      },
      good: async () => {
        const peer = await connectPeer({path: milter});
        const {answers: said} = await peer.mail({to: ['ben@example.com']});
        peer.destroy();
        const found = lookupsIn(await exchange(connect({path: tables}), netstring('relay_domains example.com'))).join();
        if (said.at(-1)?.letter !== 'a' || found !== 'OK') throw new Error(`${JSON.stringify(said)} ${found}`);
      },
      // There is no Postfix where the configuration says: what is asked here is not asked of one.
      expectedErrors: /queue could not be read/,
      figures: () => ({answers: answers.text()}),
    });
  },
};

/** The answers that a milter may give (libmilter's SMFIR_*), as letters; a reply code with its first word. */
const repliesIn = (received: Buffer): string[] => {
  const replies: string[] = [];
  let rest = received;
  while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
    const size = rest.readUInt32BE(0);
    const letter = String.fromCharCode(rest[4] ?? 0);
    const data = rest.subarray(5, 4 + size).toString('latin1');
    if (!'Ocaydrthimq'.includes(letter)) throw new Error(`answered a frame ${JSON.stringify(letter + data)}`);
    if (letter === 'y' && !/^[45]\d\d [45]\.\d+\.\d+ .*\0$/.test(data)) throw new Error(`answered ${JSON.stringify(data)}`);
    replies.push(letter === 'y' ? (/Local error/.exec(data)?.[0] ?? data.slice(0, 3)) : letter);
    rest = rest.subarray(4 + size);
  }
  return replies;
};

/** socketmap_table(5). */
const lookupsIn = (received: Buffer): string[] =>
  createNetstringReader(1_000_000)
    .push(received)
    .map(reply => {
      const text = reply.toString();
      const word = /^(OK|NOTFOUND|TEMP|TIMEOUT|PERM) /.exec(text)?.[1];
      if (word === undefined) throw new Error(`answered ${JSON.stringify(text.slice(0, 200))}`);
      return word === 'TEMP' ? text : word;
    });
