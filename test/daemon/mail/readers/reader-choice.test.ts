import test from 'ava';
import {bytesContent} from '../../../../daemon/mail/bytes-content.ts';
import {chooseReader, type Job, type Reader} from '../../../../daemon/mail/readers/reader-choice.ts';

const jobOf = (given: Partial<Job> = {}): Job => ({
  ...{no: 1, task: {kind: 'signatures'}, isRepeated: false, ticks: 0, maxTicks: 8, asking: 0, messages: 0, sources: []},
  ...{resolve() {}, reject() {}},
  ...given,
});
const small = jobOf();
const large = jobOf({content: bytesContent(Buffer.alloc(2 * 1024 * 1024))});
const waiting = jobOf({asking: 1});
const again = jobOf({isRepeated: true});

const readerOf = (...jobs: Job[]): Reader => ({
  ...{share: 'mail', purpose: 'mail', isReady: true, isOverdue: false, strays: 0, timer: undefined},
  jobs: new Map(jobs.map((job, n) => [n, job])),
  process: {tell() {}, async send() {}, kill() {}, hasEnded: Promise.resolve()},
});

/** The number of the reader, `new`, or `none`. */
const choose = (job: Job, readers: Reader[], maxReaders = 1): number | 'new' | 'none' => {
  const started = readerOf();
  const chosen = chooseReader({readers: new Set(readers), maxReaders, start: () => started}, job);
  if (chosen === started) return 'new';
  return chosen ? readers.indexOf(chosen) : 'none';
};

test('small mail joins the one that reads small mail, and takes no second processor', t => {
  t.is(choose(small, []), 'new');
  t.is(choose(small, [readerOf(small), readerOf()]), 0);
  t.is(choose(small, [readerOf(large), readerOf()]), 1);
  t.is(choose(small, [readerOf(large)]), 'new');
  t.is(choose(small, [readerOf(again), readerOf(small, small, small)]), 1);
  t.is(choose(small, [readerOf(...Array(8).fill(small))]), 'none');
  t.is(choose(small, [readerOf(small), readerOf(small)], 3), 'new');
});

test('a large mail has a reader beside that of small mail, and waits for another large one', t => {
  t.is(choose(large, [readerOf(small)]), 'new');
  t.is(choose(large, [readerOf(small), readerOf()]), 1);
  t.is(choose(large, [readerOf(large)]), 'none');
  t.is(choose(large, [readerOf(waiting), readerOf(large)]), 'none');
  t.is(choose(large, [readerOf(waiting), readerOf(small)]), 0);
  t.is(choose(large, [readerOf(large)], 3), 'new');
});

test('a mail that is read again has a new reader, for which an idle one ends', t => {
  t.is(choose(again, [readerOf()]), 'new');
  t.is(choose(again, [readerOf(small), readerOf()]), 'new');
  t.is(choose(again, [readerOf(small), readerOf(small)]), 'none');
  t.is(choose(again, [readerOf(waiting), readerOf(again)]), 'none');
});
