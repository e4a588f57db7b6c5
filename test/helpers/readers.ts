// The processes of the build that is tested, and the same work done in the process of a test.
import {readFile} from 'node:fs/promises';
import type {ExecutionContext} from 'ava';
import {checkSender} from '../../daemon/mail/readers/check-sender.ts';
import {checkSignatures} from '../../daemon/mail/readers/check-signatures.ts';
import type {PoolNeeds} from '../../daemon/mail/readers/reader-pool.ts';
import {type CheckSignatures, createReaders} from '../../daemon/mail/readers/readers.ts';

const dist = new URL('../../dist/', import.meta.url);

const readerFile = async (): Promise<URL> => {
  const files = JSON.parse(await readFile(new URL('files.json', dist), 'utf8')) as string[];
  return new URL(files.find(name => /^mfd-reader-\w+\.mjs$/.test(name)) ?? 'none', dist);
};

export const startReaders = async (t: ExecutionContext, needs: Partial<PoolNeeds> = {}) => {
  const readers = createReaders({file: await readerFile(), ...needs});
  t.teardown(readers.close);
  return readers;
};

export const checkContent: CheckSignatures = async (content, lookup) =>
  checkSignatures(Buffer.concat(await content.open().toArray()), lookup);
export const readersInProcess = {checkSender, checkSignatures: checkContent};
