import test, {type ExecutionContext} from 'ava';
import {createDeadServers} from '../../../../daemon/mail/backend/backend-pool.ts';
import {useFakeClock} from '../../../helpers/fake-clock.ts';

const server = 'mx1.example:25';

/** Records when a server is tried again, in seconds; `answers` says whether it answers then. */
const arrange = (t: ExecutionContext, answers: () => boolean, needs: Partial<Parameters<typeof createDeadServers>[0]> = {}) => {
  const clock = useFakeClock(t);
  const startMs = clock.now();
  const dead = createDeadServers({now: clock.now, pause: {firstMs: 1000, mostMs: 4000}, ...needs});
  t.teardown(dead.close);
  const triedAt: number[] = [];
  const tryAgain = async () => {
    triedAt.push((clock.now() - startMs) / 1000);
    return answers();
  };
  return {clock, dead, tryAgain, triedAt};
};

test.serial('a dead server is tried again after pauses that grow to a bound, until it answers', async t => {
  let isUp = false;
  const {clock, dead, tryAgain, triedAt} = arrange(t, () => isUp);

  t.false(dead.has(server));
  dead.failed(server, tryAgain);
  await clock.advance(12_000);

  t.true(dead.has(server));
  t.false(dead.has('mx2.example:25'));
  t.deepEqual(triedAt, [1, 3, 7, 11]);
  isUp = true;
  await clock.advance(4000);
  t.false(dead.has(server));
  await clock.advance(60_000);
  t.deepEqual(triedAt, [1, 3, 7, 11, 15]);
});

test.serial('however many mails find a server dead, it is tried by one', async t => {
  const {clock, dead, tryAgain, triedAt} = arrange(t, () => false);

  dead.failed(server, tryAgain);
  await clock.advance(500);
  dead.failed(server, tryAgain);
  await clock.advance(3000);

  t.deepEqual(triedAt, [1, 3]);
});

test.serial('a server that a mail has used is forgotten, also by the try that is under way', async t => {
  let answer = (_isUp: boolean): void => undefined;
  const {clock, dead} = arrange(t, () => false);
  let tries = 0;
  const tryAgain = async () => {
    tries += 1;
    return new Promise<boolean>(resolve => {
      answer = resolve;
    });
  };
  dead.failed(server, tryAgain);
  await clock.advance(1000);

  dead.worked(server);
  answer(false);
  await clock.advance(60_000);

  t.false(dead.has(server));
  t.is(tries, 1);
});

test.serial('a server that no mail asks for is given up, and one that is asked for is not', async t => {
  const {clock, dead, tryAgain, triedAt} = arrange(t, () => false, {wantedMs: 10_000});

  dead.failed(server, tryAgain);
  await clock.advance(8000);
  t.true(dead.has(server));
  await clock.advance(8000);
  t.true(triedAt.includes(15));
  await clock.advance(60_000);

  t.is(triedAt.at(-1), 19);
  t.false(dead.has(server));
});

test.serial('no more servers are remembered than the bound, and none once it is closed', async t => {
  const {clock, dead, tryAgain, triedAt} = arrange(t, () => false, {maxRemembered: 1});

  dead.failed(server, tryAgain);
  dead.failed('mx2.example:25', tryAgain);
  t.deepEqual([dead.has(server), dead.has('mx2.example:25')], [true, false]);
  dead.close();
  await clock.advance(60_000);

  t.deepEqual(triedAt, []);
});
