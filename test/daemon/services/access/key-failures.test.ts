import test from 'ava';
import {createKeyFailures, guessLimit, type KeyFailureCount} from '../../../../daemon/services/access/key-failures.ts';

const start = () => {
  const clock = {ms: 0};
  const counts: KeyFailureCount[] = [];
  const failures = createKeyFailures({monotonic: () => clock.ms, onCount: count => void counts.push(count)});
  /** The number of `times` unknown keys that were still allowed. */
  const guess = (address: string, times: number) =>
    Array.from({length: times}, () => failures.note(address, true)).filter(({isAllowed}) => isAllowed).length;
  return {clock, counts, failures, guess};
};

test('an address may send so many unknown keys in a minute, and as many in the next', t => {
  const {clock, failures, guess} = start();

  t.deepEqual(failures.note('192.0.2.1', true), {isLogged: true, isAllowed: true, remaining: guessLimit - 1, resetSeconds: 60});
  t.is(guess('192.0.2.1', 100), guessLimit - 1);
  clock.ms = 59_001;
  t.deepEqual(failures.note('192.0.2.1', true), {isLogged: false, isAllowed: false, remaining: 0, resetSeconds: 1});
  t.is(guess('192.0.2.2', 100), guessLimit);
  clock.ms = 60_000;
  t.is(guess('192.0.2.1', 100), guessLimit);
});

test('the addresses of one IPv6 network of 64 bits count as one', t => {
  const {guess} = start();

  t.is(guess('2001:db8::1', 15) + guess('2001:db8:0:0:ffff::2', 15), guessLimit);
  t.is(guess('2001:db8:0:1::1', 100), guessLimit);
});

test('a key that is missing, revoked or expired is never too many, and takes nothing from what may be guessed', t => {
  const {failures, guess} = start();

  for (let n = 0; n < 100; n += 1) t.true(failures.note('192.0.2.1', false).isAllowed);

  t.is(guess('192.0.2.1', 100), guessLimit);
});

test('the first of a minute is logged, and all are counted once when it is over', t => {
  const {clock, counts, failures, guess} = start();
  guess('192.0.2.1', 100);
  failures.note('192.0.2.2', false);
  failures.report();
  t.deepEqual(counts, []);

  clock.ms = 60_000;
  failures.report();
  failures.report();

  t.deepEqual(counts, [{remote_address: '192.0.2.1', requests: 100, too_many: 80}]);
  t.true(failures.note('192.0.2.1', true).isLogged);
});

test('a minute that is over when the next one begins is told of too, and so is one that has only begun at the end', t => {
  const {clock, counts, failures, guess} = start();
  guess('192.0.2.1', 3);
  clock.ms = 60_000;
  guess('192.0.2.1', 2);

  failures.report(true);

  t.deepEqual(
    counts.map(({requests}) => requests),
    [3, 2],
  );
});

test('addresses without number are counted as one beyond a thousand, and leave a thousand and one counts', t => {
  const {clock, counts, failures, guess} = start();
  for (let n = 0; n < 3000; n += 1) guess(`10.0.${n >> 8}.${n & 255}`, 2);

  clock.ms = 60_000;
  failures.report();

  t.is(counts.length, 1001);
  t.deepEqual(counts.at(-1), {remote_address: null, requests: 4000, too_many: 4000 - guessLimit});
  t.is(guess('10.0.11.1', 1), 1);
});
