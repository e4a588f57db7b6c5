import {setImmediate as turn} from 'node:timers/promises';
import test from 'ava';
import {createKeySearches, createSearchLimit, SearchOverdue} from '../../../daemon/services/search-limits.ts';
import {Fault} from '../../../shared/fault.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';

const filter = {subject: 'ab'};
const longMs = 60_000;
const here = () => new AbortController().signal;

/** Work that runs until the test ends it. */
const createWorks = () => {
  const running = new Map<string, () => void>();
  const started: string[] = [];
  return {
    running,
    started,
    work: (name: string) => async () => {
      started.push(name);
      await new Promise<void>(resolve => running.set(name, resolve));
      running.delete(name);
      return name;
    },
    end: (name: string) => running.get(name)?.(),
  };
};

test('a fifth search of a key starts when one of its four has ended, and not before', async t => {
  const searches = createKeySearches({atOnce: 4, waitMs: longMs});
  const {work, started, end} = createWorks();
  const all = ['1', '2', '3', '4', '5'].map(async name => searches.run({keyId: 7, filter, gone: here()}, work(name)));
  await turn();
  t.deepEqual(started, ['1', '2', '3', '4']);

  end('3');

  t.is(await all[2], '3');
  await turn();
  t.deepEqual(started, ['1', '2', '3', '4', '5']);
  for (const name of started) end(name);
  t.deepEqual(await Promise.all(all), ['1', '2', '3', '4', '5']);
});

test('a search that has waited its time is refused with 429, and the next one runs', async t => {
  const searches = createKeySearches({atOnce: 1, waitMs: 20});
  const {work, started, end} = createWorks();
  const first = searches.run({keyId: 7, filter, gone: here()}, work('first'));

  const refused = await t.throwsAsync(searches.run({keyId: 7, filter, gone: here()}, work('second')), {instanceOf: Fault});

  t.like(refused, {code: 'rate_limited', status: 429, details: {retryAfterSeconds: 5}});
  end('first');
  await first;
  const third = searches.run({keyId: 7, filter, gone: here()}, work('third'));
  await turn();
  end('third');
  t.is(await third, 'third');
  t.deepEqual(started, ['first', 'third']);
});

test('a search that fails gives its place back', async t => {
  const searches = createKeySearches({atOnce: 1, waitMs: longMs});

  await t.throwsAsync(
    searches.run({keyId: 7, filter, gone: here()}, async () => Promise.reject(new Error('broken'))),
    {message: 'broken'},
  );

  t.is(await searches.run({keyId: 7, filter, gone: here()}, async () => 'next'), 'next');
});

test('a waiting search whose caller has gone never starts, and those after it do', async t => {
  const searches = createKeySearches({atOnce: 1, waitMs: longMs});
  const {work, started, end} = createWorks();
  const caller = new AbortController();
  const first = searches.run({keyId: 7, filter, gone: here()}, work('first'));
  const left = searches.run({keyId: 7, filter, gone: caller.signal}, work('left'));
  const last = searches.run({keyId: 7, filter, gone: here()}, work('last'));

  caller.abort();
  await t.throwsAsync(left, {instanceOf: Fault});
  end('first');
  await first;
  await turn();
  end('last');

  t.is(await last, 'last');
  t.deepEqual(started, ['first', 'last']);
});

test('searches of one key delay neither another key nor a list by node, domain and reason', async t => {
  const searches = createKeySearches({atOnce: 1, waitMs: longMs});
  const {work, end} = createWorks();
  const first = searches.run({keyId: 7, filter, gone: here()}, work('first'));
  const plain: HoldFilter[] = [{}, {domain: 'a.test'}, {reason: 'spam'}, {node: 'alpha', domain: 'a.test', reason: 'rbl'}];

  t.is(await searches.run({keyId: 8, filter, gone: here()}, async () => 'other'), 'other');
  for (const list of plain) t.is(await searches.run({keyId: 7, filter: list, gone: here()}, async () => 'list'), 'list');

  end('first');
  t.is(await first, 'first');
});

test('the wait for a connection counts as time of the search', async t => {
  const inTurn = createSearchLimit({atOnce: 1, withinMs: 20});
  const {work, started, end} = createWorks();
  const first = inTurn(work('first'));

  const waited = await t.throwsAsync(inTurn(work('second')), {instanceOf: SearchOverdue});

  t.like(waited, {code: 'unavailable', status: 503, details: {retryAfterSeconds: 5}});
  t.regex(waited?.detail ?? '', /narrow the search/);
  end('first');
  t.is(await first, 'first');
  t.deepEqual(started, ['first']);
});
