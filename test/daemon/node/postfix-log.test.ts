import {appendFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import type {Base} from '../../../daemon/node/base.ts';
import {openPostfixLog} from '../../../daemon/node/postfix-log.ts';
import {eventually} from '../../helpers/eventually.ts';
import {testFolder} from '../../helpers/test-folder.ts';

/** A log that is followed by a node; `write` is of the entries that wait. */
const openLog = (path: string, transaction: () => Promise<void>, write = async () => {}) => {
  const failures: unknown[] = [];
  const base = {
    config: {postfix: {log_file: path}},
    storage: {nodeId: 'mx1', store: {state: {read: async () => undefined}, transaction}},
    dependencies: {watch: () => {}, worked: () => {}, failed: () => {}},
    now: Date.now,
  } as unknown as Base;
  const {jobs, close} = openPostfixLog(base, {write, noteFailure: error => void failures.push(error)});
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

test('while entries that wait cannot be written, no line is passed over: it may be about one of them', async t => {
  const path = join(await testFolder(t), 'mail.log');
  await writeFile(path, '');
  let transactions = 0;
  const log = openLog(
    path,
    async () => {
      transactions += 1;
    },
    async () => {
      throw new Error('an entry is refused');
    },
  );
  await log.run();
  const sent = '4jbbdM1j3hz1CjbZ: to=<ben@example.com>, relay=mx[192.0.2.5]:25, delay=1, dsn=2.0.0, status=sent (250 OK)';
  await appendFile(path, `Nov 27 14:38:47 mx postfix/smtp[1]: ${sent}\n`);

  await eventually(async () => {
    await log.run();
    return log.failures.length > 0;
  });

  t.like(log.failures[0], {message: 'an entry is refused'});
  t.is(transactions, 1);
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
