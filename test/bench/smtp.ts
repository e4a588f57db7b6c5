// Benchmarks of mail over SMTP: held, relayed, and scored by Rspamd, beside an earlier release.
import {holdAll, relayAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {buildRelease} from '../helpers/released-build.ts';
import {isRspamdInstalled, startRspamd} from '../helpers/rspamd.ts';
import {compareWithRelease, type Pair, releaseToCompare, releaseToCompareMissing} from './against-release.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {createExampleDomain} from './example-domain.ts';
import {mailsPerSecond} from './ratios.ts';
import {type SmtpLoad, startBareBackend, startSmtpLoad} from './smtp-load.ts';

const asFast = {anchor: `version ${releaseToCompare.version}`, wanted: {atLeast: 0.95}, unit: '×'} as const;

const rows: readonly Row[] = [
  {name: 'held', title: 'held mail of 10 KB, 8 kept sessions, mails a second', ...asFast},
  {name: 'relayed', title: 'relayed mail of 10 KB, 8 kept sessions, mails a second', ...asFast},
  {name: 'rspamd', title: 'relayed mail that Rspamd scores, mails a second', ...asFast},
];

const to = 'ben@example.com';
export const kept = {clients: 8, to, sizeBytes: 10 * 1024};

export const smtp: Bench = {
  name: 'smtp',
  rows,
  seconds: 120,
  missing: releaseToCompareMissing,
  async run(context) {
    const {owner, isQuick, isWanted, report} = context;
    const release = await buildRelease(owner, releaseToCompare);
    const backend = `127.0.0.1:${await startBareBackend(owner)}`;
    const stage = {context, load: startSmtpLoad(owner), backend, release};
    if (isWanted('held')) await compareRates(stage, {row: 'held', domain: holdAll, count: isQuick ? 600 : 2000});
    if (isWanted('relayed')) await compareRates(stage, {row: 'relayed', domain: relayAll, count: isQuick ? 400 : 2000});
    if (!isWanted('rspamd')) return;
    if (!isRspamdInstalled()) {
      report('rspamd', {missing: 'Rspamd is not installed'});
      return;
    }
    const scanner = {type: 'rspamd', rspamd_url: await startRspamd(owner)};
    await compareRates(stage, {row: 'rspamd', domain: relayAll, config: {scanner}, count: isQuick ? 120 : 600});
  },
};

interface Stage {
  context: BenchContext;
  load: SmtpLoad;
  /** `host:port` of a mail server that accepts everything. */
  backend: string;
  /** The mfd of the release. */
  release: string;
}

interface Compared {
  row: string;
  domain: object;
  config?: Record<string, unknown>;
  count: number;
}

const compareRates = async ({context, load, backend, release}: Stage, {row, domain, config, count}: Compared): Promise<void> => {
  const start = async (program?: string) => {
    const node = await startNode(context.owner, {
      config: {...config, smtp: {reverse_lookup: false}},
      ...(program !== undefined && {program}),
    });
    await createExampleDomain(node, backend, domain);
    return node;
  };
  const nodes: Pair<Awaited<ReturnType<typeof start>>> = {own: await start(), release: await start(release)};
  const rate = async (node: {smtpPort: number}) => load.rate({...kept, port: node.smtpPort, count});
  await compareWithRelease(context, row, {
    works: {own: async () => rate(nodes.own), release: async () => rate(nodes.release)},
    warmUps: 2,
    text: mailsPerSecond,
  });
  for (const node of Object.values(nodes)) await node.stop();
};
