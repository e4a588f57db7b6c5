import fs from 'node:fs';
import test from 'ava';
import {createLog, describeError} from '../../../daemon/node/log.ts';
import {Fault} from '../../../shared/fault.ts';
import {testStore} from '../../helpers/store.ts';

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
  const log = createLog('info', false);
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

  t.notThrows(() => createLog('info', false).error({err: error}, 'failed'));
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

  createLog('info', false).info({sender}, 'mail');

  t.regex(written.join(''), /^[\x20-\x7eü]+\n$/);
  t.is(JSON.parse(written.join('')).sender, sender);
});
