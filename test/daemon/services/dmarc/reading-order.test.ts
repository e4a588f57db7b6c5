import {setImmediate as settled} from 'node:timers/promises';
import test from 'ava';
import {createReadingOrder, type Standing} from '../../../../daemon/services/dmarc/reading-order.ts';

/** Readings that end when the test says so. Each is called `<sender> <number>`. */
const openOrder = () => {
  let clock = 0;
  const inTurn = createReadingOrder(() => clock);
  const underWay = new Map<string, (error?: Error) => void>();
  const outcomes = new Map<string, string>();

  return {
    outcomes,
    ask(standing: Standing, sender: string, ...numbers: number[]): void {
      for (const number of numbers) {
        const name = `${sender} ${number}`;
        const read = async () =>
          new Promise<string>((resolve, reject) => {
            underWay.set(name, error => (error ? reject(error) : resolve('read')));
          });
        inTurn({standing, sender}, read).then(
          answer => outcomes.set(name, answer),
          error => outcomes.set(name, error.code ?? error.message),
        );
      }
    },
    async end(name: string, error?: Error): Promise<void> {
      underWay.get(name)?.(error);
      underWay.delete(name);
      await settled();
    },
    async underWay(): Promise<string[]> {
      await settled();
      return [...underWay.keys()];
    },
    wait(ms: number): void {
      clock += ms;
    },
  };
};

test('one report of a sender is read at a time, in the order in which they came', async t => {
  for (const standing of ['known', 'verified', 'unverified'] as const) {
    const order = openOrder();
    order.ask(standing, 'a.test', 1, 2, 3);

    t.deepEqual(await order.underWay(), ['a.test 1']);
    await order.end('a.test 1');
    t.deepEqual(await order.underWay(), ['a.test 2']);
    await order.end('a.test 2', new Error('broken'));
    t.deepEqual(await order.underWay(), ['a.test 3'], 'one that fails holds up nobody');
    t.deepEqual(
      [...order.outcomes],
      [
        ['a.test 1', 'read'],
        ['a.test 2', 'broken'],
      ],
    );
  }
});

test('a known sender is read at once while a hundred reports of another one wait', async t => {
  const order = openOrder();
  order.ask('known', 'a.test', ...Array.from({length: 100}, (_, n) => n));
  order.ask('known', 'b.test', 1);

  t.deepEqual(await order.underWay(), ['a.test 0', 'b.test 1']);
});

test('a verified sender is read at once, however many reports come from others that are not', async t => {
  const order = openOrder();
  for (let n = 0; n < 100; n += 1) order.ask('unverified', `192.0.2.${n}`, 1);
  order.ask('verified', 'b.test', 1);
  order.ask('known', 'c.test', 1);

  t.deepEqual(await order.underWay(), ['192.0.2.0 1', 'b.test 1', 'c.test 1']);
});

test('a known sender is read at once, however many new ones there are', async t => {
  const order = openOrder();
  for (let n = 0; n < 100; n += 1) order.ask('verified', `${n}.test`, 1);
  order.ask('known', 'c.test', 1);

  t.deepEqual(await order.underWay(), ['0.test 1', 'c.test 1']);
});

test('senders take turns where they share a place, whoever came first with many', async t => {
  const order = openOrder();
  order.ask('unverified', 'a', 1, 2, 3);
  order.ask('unverified', 'b', 1, 2);
  order.ask('unverified', 'c', 1);
  const turns: string[] = [];

  for (let [now] = await order.underWay(); now !== undefined; [now] = await order.underWay()) {
    turns.push(now);
    await order.end(now);
  }

  t.deepEqual(turns, ['a 1', 'b 1', 'c 1', 'a 2', 'b 2', 'a 3']);
});

test('a report that has waited for a minute is not read, and the next one is', async t => {
  const order = openOrder();
  order.ask('known', 'a.test', 1, 2);
  await settled();
  order.wait(1);
  order.ask('known', 'a.test', 3);
  order.wait(60_000);

  await order.end('a.test 1');

  t.is(order.outcomes.get('a.test 2'), 'unavailable');
  t.deepEqual(await order.underWay(), ['a.test 3']);
});
