import test from 'ava';
import fc from 'fast-check';
import {lastDueMs} from '../../../../daemon/services/recipients/due-time.ts';

const dueAt = (at: string, timezone: string, now: string): string =>
  new Date(lastDueMs({at, timezone}, Date.parse(now))).toISOString().slice(0, 16);

test('it is due at that time of the day by the clock of the zone, in summer and in winter', t => {
  t.is(dueAt('07:00', 'UTC', '2026-11-28T07:00:00Z'), '2026-11-28T07:00');
  t.is(dueAt('07:00', 'UTC', '2026-11-28T06:59:59Z'), '2026-11-27T07:00');
  t.is(dueAt('07:00', 'Europe/Berlin', '2026-11-28T12:00:00Z'), '2026-11-28T06:00');
  t.is(dueAt('07:00', 'Europe/Berlin', '2026-07-01T12:00:00Z'), '2026-07-01T05:00');
  t.is(dueAt('07:00', 'Asia/Kolkata', '2026-07-01T12:00:00Z'), '2026-07-01T01:30');
});

test('the day is that of the zone, which may be another one than in UTC', t => {
  t.is(dueAt('07:00', 'Pacific/Auckland', '2026-07-01T20:00:00Z'), '2026-07-01T19:00');
  t.is(dueAt('23:30', 'America/Los_Angeles', '2026-07-02T06:40:00Z'), '2026-07-02T06:30');
  t.is(dueAt('00:10', 'Pacific/Kiritimati', '2026-07-01T10:09:00Z'), '2026-06-30T10:10');
});

test('a time that summer time leaves out is later by what the clock is put forward', t => {
  t.is(dueAt('02:30', 'Europe/Berlin', '2026-03-29T12:00:00Z'), '2026-03-29T01:30');
  t.is(dueAt('02:30', 'Europe/Berlin', '2026-03-29T01:29:59Z'), '2026-03-28T01:30');
});

test('a time that comes twice counts once, when it comes first', t => {
  t.is(dueAt('02:30', 'Europe/Berlin', '2026-10-25T00:30:00Z'), '2026-10-25T00:30');
  t.is(dueAt('02:30', 'Europe/Berlin', '2026-10-25T01:45:00Z'), '2026-10-25T00:30');
});

test('in every zone it is due once a day: never in the future, at most 25 hours ago, and never earlier than before', t => {
  const zones = Intl.supportedValuesOf('timeZone');
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({min: Date.UTC(2020, 0), max: Date.UTC(2036, 0)}),
      fc.integer({min: 0, max: 1439}),
      (timezone, now, minute) => {
        const at = `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
        const due = lastDueMs({at, timezone}, now);
        t.true(due <= now && now - due <= 25 * 3_600_000);
        t.is(lastDueMs({at, timezone}, due), due);
        t.true(lastDueMs({at, timezone}, due - 1) < due);
      },
    ),
    {numRuns: 300},
  );
});
