import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import {
  exactMoment,
  momentAfter,
  parseDuration,
  pastMoment,
  pastMomentFault,
  readMoment,
} from '../../../cli/command-line/moment.ts';
import {runCli} from '../../helpers/cli/fake-terminal.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

/** A Thursday, 12:30:00 on the clock of this machine. */
const noon = new Date(2026, 10, 26, 12, 30);
const local = (...parts: [number, number, number, number?, number?, number?]): string => new Date(...parts).toISOString();

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

test('a time as people write it is of the zone of this machine, and the last one before now', t => {
  for (const [text, moment] of [
    ['12:30', local(2026, 10, 26, 12, 30)],
    ['9:05', local(2026, 10, 26, 9, 5)],
    ['12:31', local(2026, 10, 25, 12, 31)],
    ['23:59:59', local(2026, 10, 25, 23, 59, 59)],
    ['today', local(2026, 10, 26)],
    ['yesterday', local(2026, 10, 25)],
    ['Yesterday 18:00', local(2026, 10, 25, 18)],
    ['thursday', local(2026, 10, 26)],
    ['monday', local(2026, 10, 23)],
    ['fri', local(2026, 10, 20)],
    ['monday 9:05', local(2026, 10, 23, 9, 5)],
    ['thursday 12:30', local(2026, 10, 26, 12, 30)],
    ['thursday 18:00', local(2026, 10, 19, 18)],
    ['2026-11-26 12:30', local(2026, 10, 26, 12, 30)],
    ['2026-11-26T12:30:15', local(2026, 10, 26, 12, 30, 15)],
    ['2026-1-2 3:04', local(2026, 0, 2, 3, 4)],
  ] as const)
    t.deepEqual(readMoment(text, noon.getTime(), 'last'), {at: moment, isLocal: true}, text);
});

test('where a time lies ahead, it is the next one', t => {
  for (const [text, moment] of [
    ['12:30', local(2026, 10, 27, 12, 30)],
    ['18:00', local(2026, 10, 26, 18)],
    ['tomorrow', local(2026, 10, 27)],
    ['thursday', local(2026, 11, 3)],
    ['monday 9:05', local(2026, 10, 30, 9, 5)],
  ] as const)
    t.is(readMoment(text, noon.getTime(), 'next').at, moment, text);
});

test('a time with its zone is the same everywhere, and so is a date, which begins in UTC', t => {
  fc.assert(
    fc.property(
      fc.date({min: new Date('1000-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true}),
      date => t.deepEqual(readMoment(date.toISOString(), 0, 'last'), {at: date.toISOString()}),
    ),
  );
  t.deepEqual(readMoment('2026-11-26 12:30 +01:00', 0, 'last'), {at: '2026-11-26T11:30:00.000Z'});
  t.deepEqual(readMoment('2026-11-26', 0, 'last'), {at: '2026-11-26T00:00:00.000Z'});
});

test('what cannot be is told as such', t => {
  for (const [text, fault] of [
    ['2026-13-01', 'there is no month 13'],
    ['2026-00-01', 'there is no month 0'],
    ['2026-02-30', 'February 2026 has no day 30'],
    ['2027-02-29T00:00:00Z', 'February 2027 has no day 29'],
    ['25:00', 'there is no hour 25'],
    ['yesterday 12:61', 'there is no minute 61'],
    ['2026-11-26 12:30:60', 'there is no second 60'],
  ] as const)
    t.is(pastMomentFault(text, noon.getTime()), fault, text);
  for (const text of [
    '',
    'lunch',
    'tomorrow',
    '12',
    '12:3',
    '26.11.2026',
    '11/26/2026',
    '12:30Z',
    '2026-11-26 12:30 CET',
    '99999999999w',
  ])
    t.regex(pastMomentFault(text, noon.getTime()) ?? '', /^must be a time such as 2h, 12:30, yesterday, monday/, text);
  t.throws(() => pastMoment('2999-01-01'), {message: '2999-01-01T00:00:00.000Z is still to come.'});
  t.throws(() => pastMoment('2026-13-01'), {message: 'There is no month 13.'});
  t.throws(() => exactMoment('90d'));
  t.throws(() => exactMoment('yesterday'), {message: 'yesterday is past.'});
  t.throws(() => momentAfter('2027-01-01'));
});

test('an hour that is missing where clocks are put forward is told', async t => {
  const ask = `import('./cli/command-line/moment.ts').then(m => console.log(JSON.stringify(['2026-03-29 2:30', '2026-03-29 3:30', '2026-03-29'].map(text => m.readMoment(text, 0, 'last')))))`;

  const {stdout} = await promisify(execFile)(process.execPath, ['--import=tsx', '-e', ask], {
    env: {...process.env, TZ: 'Europe/Berlin'},
  });

  t.deepEqual(JSON.parse(stdout), [
    {fault: 'there is no 02:30 on 2026-03-29 here: clocks are put forward'},
    {at: '2026-03-29T01:30:00.000Z', isLocal: true},
    {at: '2026-03-29T00:00:00.000Z'},
  ]);
});

test('a day that has no midnight begins at the first time that it has', async t => {
  // Clocks go from 23:59:59 on the 5th to 1:00 on the 6th.
  const ask = `import('./cli/command-line/moment.ts').then(m => console.log(JSON.stringify(['today', 'sunday', 'today 0:00'].map(text => m.readMoment(text, Date.parse('2026-09-06T15:00:00Z'), 'last')))))`;

  const {stdout} = await promisify(execFile)(process.execPath, ['--import=tsx', '-e', ask], {
    env: {...process.env, TZ: 'America/Santiago'},
  });

  t.deepEqual(JSON.parse(stdout), [
    {at: '2026-09-06T04:00:00.000Z', isLocal: true},
    {at: '2026-09-06T04:00:00.000Z', isLocal: true},
    {fault: 'there is no 00:00 on 2026-09-06 here: clocks are put forward'},
  ]);
});

test('what a time was taken for is shown with its zone, and what needs no clock is not', async t => {
  const api = await startApi(t, {'GET /audit': {data: []}, 'GET /mail/quarantine': {data: []}});

  const day = await api.mfctl(['audit', '--since', '2026-01-02 3:04']);
  const both = await api.mfctl(['quarantine', 'list', '--since', '2026-01-02 3:04', '--until', '2026-01-02T03:04:05']);
  const exact = await api.mfctl(['audit', '--since', '2026-01-02T03:04:05Z']);
  const ago = await api.mfctl(['audit', '--since', '2h']);

  t.regex(day.stderr, /^--since 2026-01-02 3:04 is 2026-01-02 03:04:00 [+-]\d\d:\d\d\n/);
  t.regex(both.stderr, /^--since .*\n--until 2026-01-02T03:04:05 is 2026-01-02 03:04:05 [+-]\d\d:\d\d\n/);
  t.is(api.requests[0]?.query.get('since'), local(2026, 0, 2, 3, 4));
  for (const {stderr} of [exact, ago]) t.notRegex(stderr, /--since .* is /);
});

test('a wrong time is wrong usage with every command that takes one', async t => {
  for (const argv of [
    ['audit', '--since', '2026-13-01'],
    ['quarantine', 'list', '--until', '2026-13-01'],
    ['dmarc', 'summary', 'example.com', '--since', '2026-13-01'],
    ['key', 'revoke', 'x', '--at', '2026-13-01'],
    ['key', 'rotate', 'x', '--expires-at', '2026-13-01'],
    ['key', 'create', '--name', 'x', '--scope', 'read-only', '--expires-at', '2026-13-01'],
  ]) {
    const {code, stderr} = await runCli(argv, {env: {}});

    t.is(code, 2, argv.join(' '));
    t.regex(stderr, /is invalid\. There is no month 13 \(usage\)\n/);
  }
});

test('--expires-in lies ahead', t => {
  const ahead = Date.parse(momentAfter('90d')) - Date.now();

  t.true(Math.abs(ahead - 90 * 86_400_000) < 10_000);
});
