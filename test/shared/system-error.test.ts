import test from 'ava';
import {connectionReason, fileReason} from '../../shared/system-error.ts';

const failure = (code: string, message: string) => Object.assign(new Error(message), {code});

test('a failed connection is told in words, and what has none keeps its text or its code', t => {
  t.is(connectionReason(failure('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')), 'nothing listens there');
  t.is(connectionReason(failure('ENOTFOUND', 'getaddrinfo ENOTFOUND nope.invalid')), 'no such host');
  t.is(connectionReason(failure('EODD', 'odd')), 'odd');
  t.is(connectionReason(failure('constructor', 'odd')), 'odd');
  // Of a host with several addresses.
  t.is(connectionReason(failure('EODD', '')), 'EODD');
  t.is(connectionReason(new Error('no connection within 5000 ms')), 'no connection within 5000 ms');
});

test('a file that cannot be used is told without the call', t => {
  t.is(fileReason(failure('ENOENT', "ENOENT: no such file or directory, mkdir '/proc/x'")), 'no such file or folder');
  t.is(fileReason(failure('EODD', 'EODD: odd')), 'EODD');
});
