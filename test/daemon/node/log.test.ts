import fs from 'node:fs';
import test from 'ava';
import {createLog, describeError, textLine} from '../../../daemon/node/log.ts';
import {Fault} from '../../../shared/fault.ts';
import {testStore} from '../../helpers/store.ts';

const asJson = [
  {level: 'info', format: 'auto'},
  {isForJournal: false, isTerminal: false},
] as const;

test('an error of the database is told without the values of its statement', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await store.write.raw("CREATE TRIGGER broken BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'the disk is bad'); END");

  const error = await t.throwsAsync(store.write('outbox').insert({event: '-----BEGIN PRIVATE KEY-----\n    at PRIVATE KEY'}));
  const told = JSON.stringify(describeError(new Error('the change failed', {cause: error})));

  t.true(error?.message.includes('PRIVATE KEY'), 'what is tested for is there to begin with');
  t.notRegex(told, /PRIVATE KEY|insert into/);
  t.regex(told, /the change failed.*SQLITE_CONSTRAINT: the disk is bad/);
  t.regex(told, /log\.test\.ts/);
});

test('what is no error, and an error that causes itself, are told too', t => {
  const circular = new Error('round');
  circular.cause = circular;

  t.is(describeError('text'), 'text');
  t.regex(JSON.stringify(describeError(circular)), /round/);
});

test('what a caller is told has no stack in the log, and what caused it has', t => {
  const told = describeError(new Fault('unavailable', 'Rspamd cannot be reached', {cause: new Error('ECONNREFUSED')}));

  t.like(told, {type: 'Fault', message: 'unavailable: Rspamd cannot be reached', cause: {message: 'ECONNREFUSED'}});
  t.false(Object.hasOwn(told as object, 'stack'));
  t.regex((told as {cause: {stack: string}}).cause.stack, /log\.test\.ts/);
});

test('a line that cannot be written is lost, and fails nobody; later lines are written', t => {
  const log = createLog(...asJson);
  const {writeSync} = fs;
  const written: string[] = [];
  let isFull = false;
  t.teardown(() => Object.assign(fs, {writeSync}));
  fs.writeSync = ((_fd: number, text: string) => {
    if (isFull) throw Object.assign(new Error('no space left'), {code: 'ENOSPC'});
    written.push(text);
    return Buffer.byteLength(text);
  }) as typeof writeSync;

  log.info('one');
  isFull = true;
  for (let n = 0; n < 3; n += 1) log.info('lost');
  isFull = false;
  log.info('two');

  t.deepEqual(
    written.map(line => JSON.parse(line).msg),
    ['one', 'two'],
  );
});

test('an error that cannot be described fails nobody', t => {
  const error = new Error('hostile');
  Object.defineProperty(error, 'stack', {
    get() {
      throw error;
    },
  });

  t.notThrows(() => createLog(...asJson).error({err: error}, 'failed'));
});

test('text of mail cannot reorder a line on a terminal, hide in it or give commands, and the line has the same value', t => {
  const {writeSync} = fs;
  const written: string[] = [];
  t.teardown(() => Object.assign(fs, {writeSync}));
  fs.writeSync = ((_fd: number, text: string) => {
    written.push(text);
    return Buffer.byteLength(text);
  }) as typeof writeSync;
  const sender = 'a\u202e\u200b\u009b31m\u007f\u2028\u{e0001}\u001b[2J\nü@strange.test';

  createLog(...asJson).info({sender}, 'mail');

  t.regex(written.join(''), /^[\x20-\x7eü]+\n$/);
  t.is(JSON.parse(written.join('')).sender, sender);
});

test('a line for people has the time, the level, what happened and the facts, and nothing that a terminal obeys', t => {
  const json = (members: object) =>
    JSON.stringify({level: 'info', time: new Date(2026, 2, 1, 9, 5, 7).toISOString(), ...members});

  t.is(
    textLine(
      json({pid: 1, hostname: 'mx1', sender: '', recipients: ['a@b.test', 'c d@e.test'], score: 4.5, key_id: null, msg: 'mail'}),
    ),
    '09:05:07 info  mail  sender=""  recipients=a@b.test,"c d@e.test"  score=4.5  key_id=-',
  );
  t.is(
    textLine(json({level: 'error', msg: 'failed', err: {message: 'one', stack: 'Error: one\n  at x', cause: {message: 'two'}}})),
    '09:05:07 error failed: one: two',
  );
  t.regex(textLine(json({msg: 'mail', sender: 'a\n\u202e\u009b31m\u001b[2J'})), /^[^\p{Cc}\p{Cf}]+$/u);
});

for (const [format, isForJournal, isTerminal, isText] of [
  ['auto', false, true, true],
  ['auto', false, false, false],
  ['auto', true, true, false],
  ['text', false, false, true],
  ['json', false, true, false],
] as const)
  test(`log.format ${format}, ${isTerminal ? 'on' : 'off'} a terminal${isForJournal ? ', for the journal' : ''}: ${isText ? 'text' : 'JSON'}`, t => {
    const {writeSync} = fs;
    let written = '';
    t.teardown(() => Object.assign(fs, {writeSync}));
    fs.writeSync = ((_fd: number, text: string) => {
      written += text;
      return Buffer.byteLength(text);
    }) as typeof writeSync;

    createLog({level: 'info', format}, {isForJournal, isTerminal}).info({n: 1}, 'well');

    if (isText) t.regex(written, /^\d\d:\d\d:\d\d info {2}well {2}n=1\n$/);
    else t.like(JSON.parse(written.replace(/^<6>/, '')), {msg: 'well', n: 1});
  });
