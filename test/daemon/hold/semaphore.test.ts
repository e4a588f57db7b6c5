import test from 'ava';
import {createSemaphore} from '../../../daemon/hold/mail-locks.ts';
import {useFakeClock} from '../../helpers/fake-clock.ts';

test.serial('work that waits for its turn for too long is not begun, and takes nobody else his turn', async t => {
  const clock = useFakeClock(t);
  const begun: string[] = [];
  let finish = () => {};
  const semaphore = createSemaphore(1, {patienceMs: 1000, tooLate: () => new Error('too late')});
  const first = semaphore(
    async () =>
      new Promise<void>(resolve => {
        finish = resolve;
      }),
  );
  const work = async (name: string) =>
    semaphore(async () => void begun.push(name)).catch(({message}) => void begun.push(message));
  void work('second');
  await clock.advance(600);
  void work('third');

  await clock.advance(400);
  t.deepEqual(begun, ['too late']);
  finish();
  await first;
  await clock.advance(5000);

  t.deepEqual(begun, ['too late', 'third']);
});
