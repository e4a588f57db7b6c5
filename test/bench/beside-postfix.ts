// Held mail beside a Postfix that puts everything on hold: both are fed by smtp-source, the load program of Postfix.
import {programsMissing} from '../helpers/installed.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {holdEverything} from '../helpers/postfix-node.ts';
import {alternate, timed} from './alternate.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {createExampleDomain} from './example-domain.ts';
import {mailsPerSecond, reportRatios} from './ratios.ts';
import {startBareBackend} from './smtp-load.ts';
import {sendBySource, source} from './smtp-source.ts';

const anchor = 'Postfix with everything on HOLD';
const rows: readonly Row[] = [
  {
    name: 'held-kept',
    title: 'held mail of 10 KB from smtp-source, 8 kept sessions, mails a second',
    anchor,
    wanted: {atLeast: 0.6},
    unit: '×',
  },
  {name: 'held-each', title: 'the same with a session for each mail', anchor, wanted: {atLeast: 0.8}, unit: '×'},
];

export const besidePostfix: Bench = {
  name: 'beside-postfix',
  rows,
  seconds: 90,
  missing: () => postfixMissing() ?? programsMissing([source]),
  async run(context) {
    const {owner, isWanted} = context;
    const node = await startNode(owner, {config: {smtp: {reverse_lookup: false}}});
    const backend = `127.0.0.1:${await startBareBackend(owner)}`;
    await createExampleDomain(node, backend, holdAll);
    const postfix = await startPostfix(owner, {settings: {...holdEverything, relay_domains: 'example.com', in_flow_delay: '0'}});
    const ports = {own: node.smtpPort, postfix: postfix.port};
    if (isWanted('held-kept')) await compare(context, {row: 'held-kept', ports, isKept: true});
    if (isWanted('held-each')) await compare(context, {row: 'held-each', ports, isKept: false});
  },
};

interface Compared {
  row: string;
  ports: {own: number; postfix: number};
  isKept: boolean;
}

const compare = async (context: BenchContext, {row, ports, isKept}: Compared): Promise<void> => {
  const {isQuick} = context;
  const count = isQuick ? 600 : 2000;
  const rate = async (port: number) =>
    (count * 1000) / (await timed(async () => sendBySource(port, {sessions: 8, count, isKept})));
  const {own, postfix} = await alternate(
    {own: async () => rate(ports.own), postfix: async () => rate(ports.postfix)},
    {rounds: isQuick ? 3 : 5, warmUps: 5},
  );
  reportRatios(context, row, {own, anchor: postfix, text: mailsPerSecond});
};
