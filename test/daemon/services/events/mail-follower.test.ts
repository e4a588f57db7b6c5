// Following several logs, each of which is a list here.
import test, {type ExecutionContext} from 'ava';
import {placeAt} from '../../../../daemon/services/events/mail-event.ts';
import {type MailFollowerNeeds, startMailFollower} from '../../../../daemon/services/events/mail-follower.ts';
import type {MailSource, MailStreamEvent} from '../../../../daemon/services/events/mail-source.ts';
import {readPosition, writePosition} from '../../../../daemon/services/events/stream-position.ts';
import {Fault} from '../../../../shared/fault.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {operator} from '../../../helpers/hold-queue.ts';

/** Places are `<epoch>.0.<number>`; an entry is as late as its number says. Two entries make a page. */
const createLog = (name: string) => {
  const state = {entries: [] as number[], epoch: 'e', isAway: false, isBroken: false, asked: 0, waitsFor: Promise.resolve()};
  const place = (number: number) => `${state.epoch}.0.${number}`;
  const end = () => place(state.entries.at(-1) ?? 0);
  const source: MailSource = {
    name,
    async after(from) {
      state.asked += 1;
      const {isAway} = state;
      const entries = [...state.entries];
      await state.waitsFor;
      if (isAway) throw new Fault('node_unreachable', 'away');
      if (state.isBroken) throw new Error('broken');
      const none = {events: [], place: end(), has_more: false, is_waiting: false};
      if (from === undefined) return {...none, is_gap: false};
      const [epoch, , digits] = from.split('.');
      const isTime = from.startsWith('@');
      if (!isTime && epoch !== state.epoch) return {...none, is_gap: true};
      const number = isTime ? Number.parseInt(from.slice(1), 36) : Number(digits);
      const rest = entries.filter(one => one > number);
      const page = rest.slice(0, 2);
      return {
        events: page.map(one => ({
          place: place(one),
          event: {type: 'released', node_id: name, queue_id: `Q${one}`} as MailStreamEvent,
        })),
        place: page.length > 0 ? place(page.at(-1) ?? 0) : from,
        ...{is_gap: false, has_more: page.length === 2, is_waiting: false},
      };
    },
  };
  return {state, source, add: (...numbers: number[]) => void state.entries.push(...numbers)};
};

const start = (t: ExecutionContext, logs: ReturnType<typeof createLog>[], needs: Partial<MailFollowerNeeds> = {}) => {
  const sent: {text: string; id: string}[] = [];
  const follower = startMailFollower({
    sources: () => logs.map(({source}) => source),
    after: undefined,
    types: ['released'],
    actor: () => operator,
    ready: async () => {},
    onEvent: (event, id) => sent.push({text: `${event.node_id} ${event.queue_id}`, id}),
    onGap: (name, id) => sent.push({text: `${name} gap`, id}),
    onFailure: () => t.fail('no log is broken'),
    now: () => 0,
    ...needs,
  });
  t.teardown(follower.stop);
  const texts = () => sent.map(({text}) => text);
  return {follower, sent, texts, comes: async (count: number) => eventually(() => sent.length >= count)};
};

test('from each id of a stream the rest of it comes, of every node, and nothing else', async t => {
  const [alpha, beta] = [createLog('alpha'), createLog('beta')];
  const whole = start(t, [alpha, beta], {
    after: writePosition(
      new Map([
        ['alpha', 'e.0.0'],
        ['beta', 'e.0.0'],
      ]),
    ),
  });
  alpha.add(1, 2, 3, 4, 5);
  beta.add(3, 6);
  whole.follower.wake('alpha');
  whole.follower.wake('beta');
  await whole.comes(7);

  for (const [index, {id}] of whole.sent.entries()) {
    const rest = start(t, [alpha, beta], {after: id});
    await rest.follower.asked;
    await rest.comes(6 - index);
    t.deepEqual(
      rest.texts().sort(),
      whole
        .texts()
        .slice(index + 1)
        .sort(),
      id,
    );
    rest.follower.stop();
  }
});

test('without an id it begins at the end of each log, and a node that is away then at this time', async t => {
  const [alpha, beta] = [createLog('alpha'), createLog('beta')];
  alpha.add(1, 2);
  beta.add(1000, 3000);
  beta.state.isAway = true;
  const {follower, texts, comes} = start(t, [alpha, beta], {now: () => 2});
  await follower.asked;
  t.deepEqual(
    readPosition(follower.position()),
    new Map([
      ['alpha', 'e.0.2'],
      ['beta', placeAt(2)],
    ]),
  );

  alpha.add(3);
  follower.wake('alpha');
  await comes(1);
  beta.state.isAway = false;
  follower.wake('beta');
  await comes(2);

  t.deepEqual(texts(), ['alpha Q3', 'beta Q3000']);
});

test('a node that came later is sent from its beginning, and one that has gone is asked no more', async t => {
  const logs = [createLog('alpha'), createLog('beta')];
  const [alpha, beta] = logs as [ReturnType<typeof createLog>, ReturnType<typeof createLog>];
  beta.add(1);
  const {follower, texts, comes} = start(t, logs, {
    after: writePosition(
      new Map([
        ['alpha', 'e.0.0'],
        ['gone', 'e.0.7'],
      ]),
    ),
  });
  await comes(1);
  t.deepEqual(texts(), ['beta Q1']);

  logs.splice(1);
  follower.refresh();
  const {asked} = beta.state;
  beta.add(2);
  follower.wake('beta');
  alpha.add(1);
  follower.wake('alpha');
  await comes(2);

  t.deepEqual(texts(), ['beta Q1', 'alpha Q1']);
  t.is(beta.state.asked, asked);
  t.deepEqual([...(readPosition(follower.position())?.keys() ?? [])], ['alpha']);
});

test('a node of another epoch has a gap, with an id that goes on after it, and the others go on', async t => {
  const [alpha, beta] = [createLog('alpha'), createLog('beta')];
  alpha.add(1, 2);
  beta.add(1, 2);
  beta.state.epoch = 'new';
  const after = writePosition(
    new Map([
      ['alpha', 'e.0.1'],
      ['beta', 'e.0.1'],
    ]),
  );
  const {sent, texts, comes} = start(t, [alpha, beta], {after});
  await comes(2);

  t.deepEqual(texts().sort(), ['alpha Q2', 'beta gap']);
  t.is(readPosition(sent.find(({text}) => text === 'beta gap')?.id ?? '')?.get('beta'), 'new.0.2');
});

test('a log that cannot be read is told, a node that is away or without a log is not, and both are read later', async t => {
  const [alpha, beta, gamma] = [createLog('alpha'), createLog('beta'), createLog('gamma')];
  const told: string[] = [];
  alpha.state.isBroken = true;
  beta.state.isAway = true;
  const logs = [alpha, beta, gamma];
  const {follower, comes} = start(t, logs, {onFailure: (name, error) => told.push(`${name} ${error}`)});
  await eventually(() => {
    follower.wake('alpha');
    follower.wake('beta');
    return alpha.state.asked >= 4 && beta.state.asked >= 4;
  });

  t.deepEqual(new Set(told), new Set(['alpha Error: broken']));
  t.is(told.length, alpha.state.asked - 2);
  alpha.state.isBroken = false;
  beta.state.isAway = false;
  alpha.add(1);
  beta.add(1);
  follower.wake('alpha');
  follower.wake('beta');
  await comes(2);
});

test('what comes while a log is read is read after it, and a client who takes nothing stops the reading', async t => {
  const alpha = createLog('alpha');
  let isReady = (): void => {};
  const ready = new Promise<void>(resolve => {
    isReady = resolve;
  });
  const {follower, texts, comes} = start(t, [alpha], {
    after: writePosition(new Map([['alpha', 'e.0.0']])),
    ready: async () => ready,
  });
  alpha.add(...Array.from({length: 100}, (_, n) => n + 1));
  follower.wake('alpha');
  await eventually(() => alpha.state.asked === 2);
  for (let n = 0; n < 10; n += 1) {
    follower.wake('alpha');
    await new Promise(resolve => setImmediate(resolve));
  }
  t.is(alpha.state.asked, 2);
  t.deepEqual(texts(), []);

  isReady();
  await comes(100);

  t.is(new Set(texts()).size, 100);
});

test('an id is read as it was written, and what is none is nothing', t => {
  const position = new Map([
    ['mx-1.example', `${'a'.repeat(16)}.0.1772366400000001`],
    ['', '@0'],
  ]);
  t.deepEqual(readPosition(writePosition(position)), position);

  const of = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const wrong = [
    ...['', 'mx1-m3x9k2-17', '%%%', '{}', 'null', 'x'.repeat(20_000)],
    ...[
      [],
      {},
      null,
      1,
      [['a']],
      [['a', 1]],
      [['a', 'b', 'c']],
      [['a/b', 'e.0.1']],
      [['a', "' OR"]],
      [['a', 'x'.repeat(100)]],
      [null],
    ].map(of),
    writePosition(position).slice(0, -8),
  ];
  for (const id of wrong) t.is(readPosition(id), undefined, id);
});

test('it has begun before the client takes anything', async t => {
  const alpha = createLog('alpha');
  alpha.add(1, 2, 3);
  const {follower, texts} = start(t, [alpha], {after: '2026-03-01T12:00:00Z', ready: async () => new Promise(() => {})});

  await follower.begun;
  await follower.asked;

  t.deepEqual(texts(), []);
});
