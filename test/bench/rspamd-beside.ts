// Mail that Rspamd scores and that is relayed, the three ways in which people run it: Postfix with Rspamd's own milter, Postfix with
// mfd's milter, and mfd's gateway. All of them ask the same Rspamd, and smtp-source sends to each.
import {eventually} from '../helpers/eventually.ts';
import {programsMissing} from '../helpers/installed.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {startPostfixNode} from '../helpers/postfix-node.ts';
import {isRspamdInstalled, startRspamdMilter} from '../helpers/rspamd.ts';
import type {Bench, Row} from './bench.ts';
import {compareBySource} from './by-source.ts';
import {createExampleDomain} from './example-domain.ts';
import {startBareBackend} from './smtp-load.ts';
import {source} from './smtp-source.ts';

const compared = {anchor: 'Postfix with Rspamd’s milter', wanted: {atLeast: 1}, unit: '×'} as const;
const rows: readonly Row[] = [
  {
    name: 'rspamd-milter-kept',
    title: 'relayed mail of 10 KB that Rspamd scores, Postfix with mfd’s milter, 8 kept sessions',
    ...compared,
  },
  {name: 'rspamd-gateway-kept', title: 'the same with mfd’s gateway', ...compared},
  {name: 'rspamd-milter-each', title: 'Postfix with mfd’s milter, a session for each mail', ...compared},
  {name: 'rspamd-gateway-each', title: 'the same with mfd’s gateway', ...compared},
];

export const rspamdBeside: Bench = {
  name: 'rspamd-beside',
  rows,
  seconds: 180,
  missing: () => postfixMissing() ?? programsMissing([source]) ?? (isRspamdInstalled() ? undefined : 'Rspamd is not installed'),
  async run(context) {
    const {owner, isQuick, isWanted} = context;
    const port = await startBareBackend(owner);
    const {url, milter} = await startRspamdMilter(owner);
    const scanner = {type: 'rspamd', rspamd_url: url};
    const settings = {relay_domains: 'example.com', relay_transport: `relay:[127.0.0.1]:${port}`, in_flow_delay: '0'};
    const plain = await startPostfix(owner, {settings: {...settings, smtpd_milters: milter}});
    const beside = await startPostfixNode(owner, {milter: 'unix', settings, config: {scanner}, domain: relayAll});
    const node = await startNode(owner, {config: {scanner, smtp: {reverse_lookup: false}}});
    await createExampleDomain(node, `127.0.0.1:${port}`, relayAll);
    // Postfix delivers after its 250, which is when the time ends.
    const isDone = async (): Promise<void> => {
      for (const {queue} of [plain, beside.postfix]) await eventually(async () => (await queue()).length === 0);
    };
    for (const isKept of [true, false]) {
      const sessions = isKept ? 'kept' : 'each';
      const ports = {[`rspamd-milter-${sessions}`]: beside.postfix.port, [`rspamd-gateway-${sessions}`]: node.smtpPort};
      if (Object.keys(ports).some(isWanted))
        await compareBySource(context, {
          anchor: plain.port,
          rows: ports,
          count: isQuick ? 150 : 600,
          isKept,
          warmUps: 3,
          isDone,
        });
    }
  },
};
