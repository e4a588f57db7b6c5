// Held mail on a disk that needs 10 ms for each sync: what is written together, and whether the API waits for it.
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {programsMissing} from '../helpers/installed.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {alternate, timed} from './alternate.ts';
import type {Bench, Row} from './bench.ts';
import {createExampleDomain} from './example-domain.ts';
import {quantilesOf} from './quantiles.ts';
import {mailsPerSecond, reportRatios} from './ratios.ts';
import {startBareBackend} from './smtp-load.ts';
import {sendBySource, source} from './smtp-source.ts';

const rows: readonly Row[] = [
  {
    name: 'slow-disk',
    title: 'held mail of 10 KB with an fsync of 10 ms, 64 sessions, mails a second',
    anchor: 'one session, a mail for each fsync',
    wanted: {atLeast: 20},
    unit: '×',
  },
  {name: 'slow-disk-api', title: 'the newest 100 held meanwhile, p99', anchor: '', wanted: {atMost: 50}, unit: 'ms'},
];

const compiler = '/usr/bin/cc';

/** Every fsync of the program takes 10 ms longer. */
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static int slowly(const char *name, int file) {
  struct timespec pause = {0, 10 * 1000 * 1000};
  int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  nanosleep(&pause, 0);
  return sync(file);
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
`;

const buildShim = (folder: string): string => {
  const library = join(folder, 'slow-disk.so');
  writeFileSync(join(folder, 'slow-disk.c'), shim);
  execFileSync(compiler, ['-shared', '-fPIC', '-o', library, join(folder, 'slow-disk.c'), '-ldl']);
  return library;
};

export const slowDisk: Bench = {
  name: 'slow-disk',
  rows,
  seconds: 60,
  missing: () => programsMissing([source, compiler]),
  async run(context) {
    const {owner, isQuick, report} = context;
    const backend = `127.0.0.1:${await startBareBackend(owner)}`;
    const node = await startNode(owner, {
      config: {smtp: {reverse_lookup: false}},
      env: {LD_PRELOAD: buildShim(await testFolder(owner))},
    });
    await createExampleDomain(node, backend, holdAll);

    const list = async (): Promise<number> => {
      const tookMs = await timed(async () => {
        const {status, body} = await node.api('GET', 'mail/quarantine?limit=100');
        if (status !== 200) throw new Error(`GET /mail/quarantine: ${status} ${body}`);
      });
      await delay(20);
      return tookMs;
    };
    const listMs: number[] = [];
    const many = async (): Promise<number> => {
      let isOver = false;
      const listing = (async () => {
        while (!isOver) listMs.push(await list());
      })();
      const rate = await rateOf(64, isQuick ? 1000 : 2000);
      isOver = true;
      await listing;
      return rate;
    };
    const rateOf = async (sessions: number, count: number): Promise<number> =>
      (count * 1000) / (await timed(async () => sendBySource(node.smtpPort, {sessions, count, isKept: true})));

    for (let n = 0; n < 3; n += 1) await many();
    listMs.length = 0;
    const measured = await alternate({one: async () => rateOf(1, 60), many}, {rounds: isQuick ? 3 : 5, warmUps: 0});
    reportRatios(context, 'slow-disk', {own: measured.many, anchor: measured.one, text: mailsPerSecond});
    const {p50, p99} = quantilesOf(listMs);
    report('slow-disk-api', {value: p99, own: `p50 ${p50.toFixed(1)} ms of ${listMs.length}`});
  },
};
