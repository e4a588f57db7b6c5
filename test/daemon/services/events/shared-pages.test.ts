import test from 'ava';
import type {MailSource, SourcePage} from '../../../../daemon/services/events/mail-source.ts';
import {sharePages} from '../../../../daemon/services/events/shared-pages.ts';
import {operator} from '../../../helpers/hold-queue.ts';

/** Each reading ends when it is told to. */
const createSource = () => {
  const readings: {keyId: number | null; end(): void}[] = [];
  let at = 0;
  let most = 0;
  const source: MailSource = {
    name: 'alpha',
    async after(place, _types, {keyId}) {
      at += 1;
      most = Math.max(most, at);
      await new Promise<void>(resolve => void readings.push({keyId, end: resolve}));
      at -= 1;
      return {events: [], place: `${place}+`, is_gap: false, has_more: false, is_waiting: false} satisfies SourcePage;
    },
  };
  return {source, readings, most: () => most};
};

const turn = async () => new Promise(resolve => setTimeout(resolve, 5));

test('those that ask for the same at once share one reading, and what has begun is not shared', async t => {
  const {source, readings} = createSource();
  const {after} = sharePages(source, {atOnce: 4, isByKey: false});

  const together = [
    after('a', ['held'], operator),
    after('a', ['held'], {...operator, keyId: 99}),
    after('b', ['held'], operator),
  ];
  await turn();
  const later = after('a', ['held'], operator);
  await turn();

  t.is(readings.length, 3);
  for (const {end} of readings) end();
  t.deepEqual(
    (await Promise.all([...together, later])).map(({place}) => place),
    ['a+', 'a+', 'b+', 'a+'],
  );
});

test('nobody shares what another access may see, nor another key where that matters', async t => {
  const {source, readings} = createSource();
  const own = sharePages(source, {atOnce: 10, isByKey: false});
  const remote = sharePages(source, {atOnce: 10, isByKey: true});
  const bound = {...operator, scope: 'domain-admin', reach: {kind: 'domain', domainId: 7}} as const;

  const asked = [
    ...[operator, bound, {...bound, reach: {kind: 'domain', domainId: 8}} as const].map(async actor =>
      own.after('a', ['held'], actor),
    ),
    own.after('a', ['held', 'released'], operator),
    ...[operator, {...operator, keyId: 99}].map(async actor => remote.after('a', ['held'], actor)),
  ];
  await turn();

  t.is(readings.length, 6);
  for (const {end} of readings) end();
  await Promise.all(asked);
});

test('only so many readings are under way at once, and the others come after them', async t => {
  const {source, readings, most} = createSource();
  const {after} = sharePages(source, {atOnce: 2, isByKey: false});

  const asked = ['a', 'b', 'c', 'd', 'e'].map(async place => after(place, ['held'], operator));
  for (let ended = 0; ended < 5; ended += 1) {
    await turn();
    readings[ended]?.end();
  }
  await Promise.all(asked);

  t.is(most(), 2);
});
