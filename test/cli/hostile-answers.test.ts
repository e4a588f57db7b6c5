// Hostile answers: none may end the program with a stack trace, use up memory, or reach the terminal raw.
import type {ServerResponse} from 'node:http';
import test from 'ava';
import {answerFailure} from '../../cli/client/request-failure.ts';
import {failureReport} from '../../cli/output/failure-report.ts';
import {safeBlock} from '../../shared/safe-text.ts';
import {mail} from '../helpers/cli/sample-records.ts';
import {startApi} from '../helpers/cli/scripted-api.ts';

const url = new URL('https://mx1.example.com:8443/api/v1/domains/7');

test('an error whose members are of the wrong kind is shown as far as possible', t => {
  const wrong: unknown[] = [null, 7, 'text', {}, {length: 3}, [null], ['x'], [{path: 1, detail: 2}], [{path: 'a'}]];
  for (const value of wrong)
    for (const code of ['validation_failed', 'insufficient_scope', '__proto__']) {
      const error = {code, detail: 'why', fields: value, required_scopes: value, request_id: value};
      const failure = answerFailure({status: 403, headers: {}, body: Buffer.from(JSON.stringify({error})), url});

      for (const format of ['table', 'json'] as const)
        t.regex(failureReport(failure, {format, isColour: false}), /why/, JSON.stringify(error));
    }
});

/** Writes until the connection is closed. */
const endless = (response: ServerResponse): void => {
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more);
  more();
};

test('an answer without end is given up', async t => {
  const api = await startApi(t, {'GET /domains': {stream: endless}, 'GET /auth/me': {status: 500, stream: endless}});

  for (const argv of [['domain', 'list'], ['whoami']]) {
    const {code, stderr} = await api.mfctl(argv);
    t.is(code, 1);
    t.regex(stderr, /answered, but not as mfd does \(unexpected_answer\)/);
  }
});

test('a mail that cannot be read is reported with the error alone, however long that is', async t => {
  const api = await startApi(t, {'GET /mail/quarantine/mx1/aaaaaa/body': {status: 500, stream: endless}});

  const {code, stderr} = await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa']);

  t.is(code, 1);
  t.regex(stderr, /answered 500, and not as mfd does/);
});

test('no header gets through -v to the terminal', async t => {
  const headers = {'x-request-id': 'r\x9b31m\x85', 'x-unreachable-nodes': 'mx\x9b2J'};
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail], headers}});

  const {stderr} = await api.mfctl(['-v', 'quarantine', 'list']);

  t.regex(stderr, /GET \/api\/v1\/mail\/quarantine 200 .* request r/);
  t.is(stderr, safeBlock(stderr));
});

test('a total that is no count is none', async t => {
  for (const total of ['-5', '1e300', '99999999999999999999', '0x10', ''])
    for (const argv of [
      ['quarantine', 'list'],
      ['quarantine', 'release', '--all-matching', '--dry-run'],
    ]) {
      const api = await startApi(t, {'GET /mail/quarantine': {data: [mail], headers: {'x-total-count': total}}});

      const {code, stderr} = await api.mfctl(argv);

      t.is(code, 0, stderr);
      t.false(stderr.includes('--offset'), `${total}: ${stderr}`);
    }
});

test('a list that begins again and again is given up', async t => {
  const data = Array.from({length: 1000}, (_, at) => ({...mail, queue_id: `mail${at}`}));
  const api = await startApi(t, {'GET /mail/quarantine': {data}});

  const {code, stderr} = await api.mfctl(['quarantine', 'discard', '--all-matching', '--yes']);

  t.is(code, 1);
  t.regex(stderr, /the list has no end/);
  t.deepEqual(
    api.requests.filter(({method}) => method !== 'GET'),
    [],
  );
});
