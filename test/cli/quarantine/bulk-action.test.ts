import test from 'ava';
import type {Answer, Request} from '../../../cli/client/transport.ts';
import {CliError, exitCodes} from '../../../cli/errors.ts';
import {createProgressBar} from '../../../cli/output/progress-bar.ts';
import {actOn} from '../../../cli/quarantine/bulk-action.ts';
import type {BulkResult, MailReference} from '../../../shared/held-mail.ts';
import {fakeClient} from '../../helpers/cli/fake-client.ts';
import {createFakeTerminal} from '../../helpers/cli/fake-terminal.ts';
import {outcome} from '../../helpers/cli/sample-records.ts';

const mails = Array.from({length: 2500}, (_, at) => ({node_id: 'mx1', queue_id: `q${String(at).padStart(6, '0')}`}));

type Reply = (items: MailReference[], request: number) => BulkResult[] | Promise<BulkResult[]>;

const createNode = (reply: Reply) => {
  const sizes: number[] = [];
  return {
    sizes,
    ...fakeClient({
      send: async <T>({json, signal}: Request): Promise<Answer<T>> => {
        const {items} = json as {items: MailReference[]};
        sizes.push(items.length);
        const data = await Promise.race([
          reply(items, sizes.length),
          new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
        ]);
        return {data: data as T, etag: undefined, totalCount: undefined, unreachableNodes: []};
      },
    }),
  };
};

/** Requests take no time. */
const now = () => 0;
const done: Reply = items => items.map(({queue_id}) => outcome(queue_id));

test('every mail is asked for once, in requests that grow while they are quick', async t => {
  const node = createNode(done);
  const progress: number[] = [];

  const {results, untried, uncertain, failure} = await actOn(node, 'release', mails, {
    onProgress: step => progress.push(step.done),
    now,
  });

  t.deepEqual(
    results.map(({queue_id}) => queue_id),
    mails.map(({queue_id}) => queue_id),
  );
  t.deepEqual([untried, uncertain, failure], [[], [], undefined]);
  t.deepEqual(node.sizes, [100, 200, 400, 800, 1000]);
  t.deepEqual(progress, [0, 100, 300, 700, 1500, 2500]);
});

test('requests become smaller when they are slow', async t => {
  let nowMs = 0;
  const node = createNode((items, request) => {
    nowMs += items.length * 20;
    return done(items, request);
  });

  await actOn(node, 'release', mails.slice(0, 200), {now: () => nowMs});

  t.deepEqual(node.sizes, [100, 50, 50]);
});

/** The sizes of requests to a node that needs `ms` for each. */
const sizesWhere = async (ms: (items: number, request: number) => number): Promise<number[]> => {
  let nowMs = 0;
  const node = createNode((items, request) => {
    nowMs += ms(items.length, request);
    return done(items, request);
  });
  await actOn(node, 'discard', mails, {now: () => nowMs});
  return node.sizes;
};

test('requests grow again where each takes long whatever its size', async t => {
  const sizes = await sizesWhere(() => 1500);

  t.deepEqual(sizes.slice(0, 6), [100, 67, 134, 268, 536, 1000]);
});

test('requests keep their size where only chance makes some quicker than others', async t => {
  const sizes = await sizesWhere((items, request) => items * 5 + ([40, -40, 25, -10][request % 4] ?? 0));

  // The last one is what is left.
  for (const size of sizes.slice(3, -1)) t.true(size > 150 && size < 250, sizes.join(' '));
});

test('one slow request makes the next ones small, and those after it as large as before', async t => {
  const sizes = await sizesWhere((items, request) => (request === 2 ? 60_000 : items * 5));

  t.deepEqual(sizes.slice(0, 3), [100, 200, 10]);
  t.is(Math.max(...sizes.slice(3)), 200);
});

test('what a node had no time for is asked for again, as long as that gets anything done, and stands in its place', async t => {
  const late = ({node_id, queue_id}: MailReference): BulkResult => ({
    node_id,
    queue_id,
    error: {code: 'unavailable', detail: 'no time'},
  });
  const some = mails.slice(0, 8);
  // Every other mail at first, then none.
  const node = createNode((items, request) =>
    items.map((mail, n) => (request < 3 && n % 2 === 0 ? outcome(mail.queue_id) : late(mail))),
  );

  const {results, untried, uncertain, failure} = await actOn(node, 'release', some, {now});

  t.deepEqual(node.sizes, [8, 4, 2]);
  t.deepEqual(
    results.map(({queue_id}) => queue_id),
    some.map(({queue_id}) => queue_id),
  );
  t.deepEqual(
    results.map(result => 'error' in result),
    [false, false, false, true, false, false, false, true],
  );
  t.deepEqual([untried, uncertain, failure], [[], [], undefined]);
});

test('of a chunk that breaks off while some of it is asked for again, the rest is uncertain', async t => {
  const broken = new CliError('timeout', 'no answer', {exitCode: exitCodes.unreachable});
  const node = createNode((items, request) => {
    if (request === 2) throw broken;
    return items.map((mail, n) =>
      n === 0 ? outcome(mail.queue_id) : {...mail, error: {code: 'unavailable', detail: 'no time'}},
    );
  });

  const {results, untried, uncertain, failure} = await actOn(node, 'release', mails.slice(0, 102), {now});

  t.deepEqual(
    results.map(({queue_id}) => queue_id),
    ['q000000'],
  );
  t.deepEqual([uncertain.length, untried.length, failure], [99, 2, broken]);
});

test('a stop waits for what is under way and begins nothing more', async t => {
  const stop = new AbortController();
  const node = createNode((items, request) => {
    if (request === 2) stop.abort();
    return done(items, request);
  });

  const {results, untried, uncertain, failure} = await actOn(node, 'discard', mails, {signal: stop.signal, now});

  t.deepEqual([results.length, untried.length, uncertain.length, failure], [300, 2200, 0, undefined]);
});

test('what is given up is uncertain, and neither done nor left', async t => {
  const abandon = new AbortController();
  const node = createNode((items, request) => {
    if (request === 1) return done(items, request);
    setImmediate(() => abandon.abort());
    return new Promise(() => {});
  });

  const {results, untried, uncertain, failure} = await actOn(node, 'discard', mails, {abandon: abandon.signal, now});

  t.deepEqual([results.length, untried.length, uncertain.length, failure], [100, 2200, 200, undefined]);
});

test('after a failure it is known what was done, and what may have been', async t => {
  const refused = new CliError('rate_limited', 'too many', {exitCode: exitCodes.unreachable});
  const reset = new CliError('unreachable', 'broke', {cause: Object.assign(new Error(), {code: 'ECONNRESET'})});
  const absent = new CliError('unreachable', 'nobody', {cause: Object.assign(new Error(), {code: 'ECONNREFUSED'})});
  const late = new CliError('outcome_unknown', 'no answer');

  for (const [failure, uncertain] of [
    [refused, 0],
    [absent, 0],
    [reset, 200],
    [late, 200],
  ] as const) {
    const node = createNode((items, request) => (request === 1 ? done(items, request) : Promise.reject(failure)));

    const result = await actOn(node, 'release', mails, {now});

    t.is(result.failure, failure);
    t.deepEqual([result.results.length, result.uncertain.length, result.untried.length], [100, uncertain, 2400 - uncertain]);
  }
});

test('a bug is not taken for an answer of the node', async t => {
  const node = createNode(() => Promise.reject(new TypeError('x')));

  await t.throwsAsync(actOn(node, 'release', mails), {instanceOf: TypeError});
});

test('a progress bar is for a terminal that can take it back, and leaves nothing behind', t => {
  const shown = createFakeTerminal({columns: 60});
  const bar = createProgressBar(shown, 'releasing', false);
  bar.update({done: 0, total: 0});
  bar.update({done: 500, total: 1000});
  bar.clear();
  bar.clear();

  t.is(shown.err(), `\rreleasing  ${'#'.repeat(17)}${'-'.repeat(17)}  500 of 1,000\x1b[K\r\x1b[K`);
  t.is(shown.out(), '');
  for (const [terminal, isQuiet] of [
    [createFakeTerminal(), false],
    [createFakeTerminal({columns: 60}), true],
    [createFakeTerminal({columns: 60, env: {TERM: 'dumb'}}), false],
  ] as const) {
    const hidden = createProgressBar(terminal, 'releasing', isQuiet);
    hidden.update({done: 1, total: 2});
    hidden.clear();
    t.is(terminal.err(), '');
  }
});
