import test from 'ava';
import {createSemaphore, startTimeLimit} from '../../../daemon/services/semaphore.ts';
import {useFakeClock} from '../../helpers/fake-clock.ts';

test.serial('work that waits for its turn for too long is not begun, and takes nobody else his turn', async t => {
  const clock = useFakeClock(t);
  const begun: string[] = [];
  let finish = () => {};
  const semaphore = createSemaphore(1);
  const first = semaphore.run(
    async () =>
      new Promise<void>(resolve => {
        finish = resolve;
      }),
  );
  const work = async (name: string) => {
    const {signal, end} = startTimeLimit(1000);
    try {
      const leave = await semaphore.acquire(signal).finally(end);
      begun.push(name);
      leave();
    } catch {
      begun.push('too late');
    }
  };
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

test('who does not wait gets a place only while one is free, and nobody who waits loses his turn', async t => {
  const semaphore = createSemaphore(2);
  const begun: string[] = [];

  const [first, second] = [semaphore.tryAcquire(), semaphore.tryAcquire()];
  const refused = semaphore.tryAcquire();
  const waiting = semaphore.run(async () => void begun.push('waiting'));
  first?.();
  const hurried = semaphore.tryAcquire();
  await waiting;

  t.truthy(second);
  t.is(refused, undefined);
  t.is(hurried, undefined, 'the place is for the one who waited');
  t.deepEqual(begun, ['waiting']);
  t.truthy(semaphore.tryAcquire());
});
