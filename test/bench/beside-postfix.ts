// Held mail beside a Postfix that puts everything on hold: both are fed by smtp-source, the load program of Postfix.
import {programsMissing} from '../helpers/installed.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {holdEverything} from '../helpers/postfix-node.ts';
import type {Bench, Row} from './bench.ts';
import {compareBySource} from './by-source.ts';
import {createExampleDomain} from './example-domain.ts';
import {startBareBackend} from './smtp-load.ts';
import {source} from './smtp-source.ts';

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
    const {owner, isQuick, isWanted} = context;
    const node = await startNode(owner, {config: {smtp: {reverse_lookup: false}}});
    const backend = `127.0.0.1:${await startBareBackend(owner)}`;
    await createExampleDomain(node, backend, holdAll);
    const postfix = await startPostfix(owner, {settings: {...holdEverything, relay_domains: 'example.com', in_flow_delay: '0'}});
    for (const [row, isKept] of [
      ['held-kept', true],
      ['held-each', false],
    ] as const)
      if (isWanted(row))
        await compareBySource(context, {
          anchor: postfix.port,
          rows: {[row]: node.smtpPort},
          count: isQuick ? 600 : 2000,
          isKept,
          warmUps: 5,
        });
  },
};
