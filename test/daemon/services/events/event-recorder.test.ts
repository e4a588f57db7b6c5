import test from 'ava';
import {createEventRecorder} from '../../../../daemon/services/events/event-recorder.ts';
import {unknownMail} from '../../../../daemon/services/events/held-event.ts';
import type {NewMailEvent} from '../../../../daemon/services/events/mail-event.ts';
import type {Store} from '../../../../daemon/services/ports.ts';

const event = (n: number, recipients = 1): NewMailEvent => ({
  ...unknownMail,
  event: 'relayed',
  at: '2026-03-01T00:00:00.000Z',
  queue_id: `Mail${1000 + n}`,
  recipients: Array.from({length: recipients}, (_, m) => `user${m}@one.test`),
});

const start = ({maxWaiting}: {maxWaiting?: number} = {}) => {
  const state = {isAway: false, refuses: '', leftOut: 0, transactions: [] as string[][], onWritten: (): void => {}};
  const append = async (events: readonly NewMailEvent[]): Promise<void> => {
    if (events.some(({queue_id}) => queue_id === state.refuses)) throw new Error('refused');
    state.transactions.push(events.map(({queue_id}) => queue_id ?? ''));
    state.onWritten();
  };
  const transaction = async (run: (tx: {events: {append: typeof append}}) => Promise<unknown>) => {
    await Promise.resolve();
    if (state.isAway) throw new Error('away');
    return run({events: {append}});
  };
  const recorder = createEventRecorder({
    store: {transaction} as unknown as Pick<Store, 'transaction'>,
    onLeftOut(count) {
      state.leftOut += count;
    },
    ...(maxWaiting !== undefined && {maxWaiting}),
  });
  return {state, recorder};
};

const idsFrom = (from: number, count: number) => Array.from({length: count}, (_, n) => `Mail${1000 + from + n}`);

test('plain mail is written in hundreds, and mail to a thousand recipients in fours', async t => {
  const {state, recorder} = start();
  for (let n = 0; n < 300; n += 1) recorder.record(event(n));
  for (let n = 300; n < 310; n += 1) recorder.record(event(n, 1000));

  await recorder.flush();

  t.deepEqual(state.transactions.flat(), idsFrom(0, 310));
  t.true((state.transactions[0]?.length ?? 0) >= 200);
  for (const ids of state.transactions.slice(2)) t.true(ids.length <= 4, `${ids}`);
});

test('others have their turn between two transactions', async t => {
  const {state, recorder} = start();
  for (let n = 0; n < 20; n += 1) recorder.record(event(n, 1000));
  let turns = 0;
  state.onWritten = () => void setImmediate(() => (turns += 1));

  await recorder.flush();

  t.is(state.transactions.length, 5);
  t.is(turns, 5);
});

test('what comes while others are written waits for the next call, and shares its transaction', async t => {
  const {state, recorder} = start();
  let next = 2;
  state.onWritten = () => {
    if (next < 5) recorder.record(event(next++));
  };
  for (const n of [0, 1]) recorder.record(event(n, 4980));

  await recorder.flush();
  t.deepEqual(state.transactions, [['Mail1000'], ['Mail1001']]);
  await recorder.flush();

  t.deepEqual(state.transactions.slice(2), [['Mail1002', 'Mail1003']]);
  t.is(recorder.waiting(), 1);
});

test('who calls while others are written waits for what he knows of', async t => {
  const {state, recorder} = start();
  let second: Promise<void> | undefined;
  state.onWritten = () => {
    if (second !== undefined) return;
    recorder.record(event(1));
    second = recorder.flush();
  };
  recorder.record(event(0));

  await recorder.flush();
  t.deepEqual(state.transactions.flat(), idsFrom(0, 2));
  await second;
});

test('of mail to many recipients fewer entries wait for a store that is away, and none is written twice', async t => {
  const {state, recorder} = start({maxWaiting: 5000});
  state.isAway = true;
  for (let n = 0; n < 10; n += 1) recorder.record(event(n, 1000));
  await t.throwsAsync(recorder.flush(), {message: 'away'});
  t.is(state.leftOut, 6);

  state.isAway = false;
  await recorder.flush();
  recorder.record(event(10, 1000));
  await recorder.flush();

  t.deepEqual(state.transactions.flat(), [...idsFrom(0, 4), 'Mail1010']);
  t.is(state.leftOut, 6);
});

test('an entry that the store refuses is left out, and all others are written', async t => {
  const {state, recorder} = start();
  state.refuses = 'Mail1150';
  for (let n = 0; n < 500; n += 1) recorder.record(event(n));

  let attempts = 0;
  for (let isWritten = false; !isWritten && attempts < 100; attempts += 1)
    isWritten = await recorder.flush().then(
      () => true,
      () => false,
    );

  t.deepEqual(new Set(state.transactions.flat()), new Set(idsFrom(0, 500).filter(id => id !== 'Mail1150')));
  t.is(state.transactions.flat().length, 499);
  t.is(state.leftOut, 1);
  t.true(attempts < 40, `${attempts}`);
});

test('while the store is away nothing is left out, however often it is tried, and then pieces grow again', async t => {
  const {state, recorder} = start();
  state.isAway = true;
  for (let n = 0; n < 500; n += 1) recorder.record(event(n));
  for (let n = 0; n < 50; n += 1) await t.throwsAsync(recorder.flush(), {message: 'away'});

  state.isAway = false;
  await recorder.flush();

  t.deepEqual(state.transactions.flat(), idsFrom(0, 500));
  t.is(state.leftOut, 0);
  t.true(state.transactions.some(ids => ids.length > 100));
});
