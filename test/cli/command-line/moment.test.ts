import test from 'ava';
import {exactMoment, momentAfter, parseDuration, pastMoment} from '../../../cli/command-line/moment.ts';

test('a duration is a sum of weeks, days, hours, minutes and seconds', t => {
  t.is(parseDuration('2h'), 7_200_000);
  t.is(parseDuration('1h30m'), 5_400_000);
  t.is(parseDuration('2w'), 1_209_600_000);
  for (const text of ['', '5', 'h', '-2h', '2 h', '2y', '1.5h']) t.is(parseDuration(text), undefined);
});

test('--since takes a time, a date or a duration back from now', t => {
  t.is(pastMoment('2026-03-01T10:00:00+02:00'), '2026-03-01T08:00:00.000Z');
  t.is(pastMoment('2026-03-01'), '2026-03-01T00:00:00.000Z');

  const age = Date.now() - Date.parse(pastMoment('2h'));

  t.true(age >= 7_200_000 && age < 7_210_000);
});

test('a time without a zone, a wrong date and plain words are refused', t => {
  for (const text of ['2026-03-01T10:00:00', '2026-13-01', 'yesterday', '', '99999999999w'])
    t.throws(() => pastMoment(text), undefined, text);
  t.throws(() => exactMoment('90d'));
  t.throws(() => momentAfter('2027-01-01'));
});

test('--expires-in lies ahead', t => {
  const ahead = Date.parse(momentAfter('90d')) - Date.now();

  t.true(Math.abs(ahead - 90 * 86_400_000) < 10_000);
});
