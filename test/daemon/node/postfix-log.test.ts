import {appendFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import type {Base} from '../../../daemon/node/base.ts';
import {openPostfixLog} from '../../../daemon/node/postfix-log.ts';
import {eventually} from '../../helpers/eventually.ts';
import {testFolder} from '../../helpers/test-folder.ts';

/** A log that is followed by a node whose store does with a transaction what `write` does. */
const openLog = (path: string, write: () => Promise<void>) => {
  const failures: unknown[] = [];
  const base = {
    config: {postfix: {log_file: path}},
    storage: {nodeId: 'mx1', store: {state: {read: async () => undefined}, transaction: write}},
    dependencies: {watch: () => {}, worked: () => {}, failed: () => {}},
    now: Date.now,
  } as unknown as Base;
  const {jobs, close} = openPostfixLog(base, {flush: async () => {}, noteFailure: error => void failures.push(error)});
  return {failures, close, run: async () => Promise.all(jobs.map(async ({run}) => run()))};
};

test('what keeps lines from being written is noted as it is for all entries, and not each half second', async t => {
  const path = join(await testFolder(t), 'mail.log');
  await writeFile(path, '');
  const log = openLog(path, async () => {
    throw new Error('database disk image is malformed');
  });

  await log.run();
  await log.close();

  t.like(log.failures, {length: 2, 1: {message: 'database disk image is malformed'}});
});

test('a stop waits for the transaction that is under way, and for no more of the log', async t => {
  const path = join(await testFolder(t), 'mail.log');
  await writeFile(path, 'x\n');
  let finish = (): void => {};
  let transactions = 0;
  const log = openLog(path, async () => {
    transactions += 1;
    await new Promise<void>(resolve => {
      finish = resolve;
    });
  });
  await eventually(() => transactions === 1);
  await appendFile(path, 'x\n');

  let isClosed = false;
  const closing = log.close().then(() => {
    isClosed = true;
  });
  await Promise.resolve();
  t.false(isClosed);
  finish();
  await closing;

  t.is(transactions, 1);
});
