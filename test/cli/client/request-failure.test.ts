import test from 'ava';
import {answerFailure, connectionFailure} from '../../../cli/client/request-failure.ts';
import {CliError, type ExitCode, exitCodes} from '../../../cli/errors.ts';
import {failureReport} from '../../../cli/output/failure-report.ts';
import {failure} from '../../../shared/envelope.ts';
import {Fault, type FaultCode, statusOfCode} from '../../../shared/fault.ts';

const url = new URL('https://mx1.example.com:8443/api/v1/domains/7');

const answered = (code: FaultCode, headers = {}) =>
  answerFailure({
    status: statusOfCode[code],
    headers,
    body: Buffer.from(JSON.stringify(failure(new Fault(code, 'why'), 'r-1'))),
    url,
  });

test('every error of the API has the exit code scripts rely on', t => {
  const expected: Partial<Record<FaultCode, ExitCode>> = {
    key_missing: 4,
    key_invalid: 4,
    key_revoked: 4,
    key_expired: 4,
    insufficient_scope: 4,
    node_removed: 4,
    invalid_parameter: 2,
    malformed_json: 2,
    validation_failed: 2,
    not_found: 5,
    unknown_node: 5,
    rate_limited: 7,
    node_unreachable: 7,
    unavailable: 7,
    outcome_unknown: 7,
  };

  for (const code of Object.keys(statusOfCode) as FaultCode[])
    t.is(answered(code).exitCode, expected[code] ?? exitCodes.failed, code);
});

test('an error keeps its code, its words and its request id', t => {
  const {code, detail, requestId, hint} = answered('not_found');

  t.deepEqual({code, detail, requestId, hint}, {code: 'not_found', detail: 'why', requestId: 'r-1', hint: 'mfctl domain list'});
});

test('a certificate for another name tells the port between nodes, too', t => {
  const error = Object.assign(new Error('names'), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    cert: {subjectaltname: 'DNS:mx1, URI:urn:mfd:node:mx1, URI:urn:mfd:node-no:1'},
  });

  t.regex(connectionFailure(error, url).detail, /8443 is the port between nodes/);
  t.is(connectionFailure(Object.assign(error, {cert: {subjectaltname: 'DNS:mx1'}}), url).code, 'tls_wrong_name');
});

test('a rate limit says when to come back', t => {
  t.is(answered('rate_limited', {'retry-after': '17'}).hint, 'repeat it in 17 s');
});

test('a status that cannot be told does not lead to the status again', t => {
  const hintFor = (path: string) =>
    answerFailure({
      ...{status: 503, headers: {'retry-after': '2'}, url: new URL(`https://mx1:8443/api/v1/${path}`)},
      body: Buffer.from(JSON.stringify({error: {code: 'unavailable', detail: 'the database is away', request_id: 'r-1'}})),
    }).hint;

  t.is(hintFor('cluster/status'), 'repeat it in 2 s; the log of mfd on that node says why');
  t.is(hintFor('domains'), 'repeat it in 2 s; mfctl cluster status');
});

test('Retry-After may be a date, and is kept for callers that can wait', t => {
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();

  t.is(answered('unavailable', {'retry-after': '17'}).retryAfterSeconds, 17);
  t.true((answered('unavailable', {'retry-after': inAMinute}).retryAfterSeconds ?? 0) > 55);
  t.is(answered('unavailable', {'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT'}).retryAfterSeconds, 0);
  t.is(answered('unavailable', {'retry-after': 'soon'}).retryAfterSeconds, undefined);
});

test('a node that has been removed is not waited for: another one has to be asked', t => {
  for (const error of [answered('node_removed'), answered('unavailable', {'retry-after': '3600'})])
    t.is(error.hint, 'waiting does not help; ask another node: mfctl context list, or --url URL');
});

test('an answer that is not of mfd is an error of its own and shows none of it', t => {
  const error = answerFailure({status: 502, headers: {}, body: Buffer.from('<html>\x1b[2J'), url});

  t.is(error.code, 'http_502');
  t.false(error.detail.includes('html'));
});

test('an untrusted certificate leads to --cacert', t => {
  for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']) {
    const error = connectionFailure(Object.assign(new Error('tls'), {code}), url);

    t.is(error.exitCode, 7);
    t.regex(error.hint ?? '', /--cacert/);
  }
});

test('a certificate that has ended says what to do where both clocks are right', t => {
  const failure = (code: string) => connectionFailure(Object.assign(new Error('tls'), {code}), url);
  const [ended, early] = [failure('CERT_HAS_EXPIRED'), failure('CERT_NOT_YET_VALID')];

  t.deepEqual([ended.code, early.code, ended.exitCode, early.exitCode], ['tls_expired', 'tls_expired', 7, 7]);
  t.regex(ended.detail, /has expired; the key was not sent/);
  t.regex(ended.hint ?? '', /compare the clocks.*another node.*tls\/ca\.key.*api\.cert_file/);
  t.is(early.hint, 'compare the clocks of both machines');
});

test('nothing listening, no such host and silence are all unreachable', t => {
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT', 'ECONNRESET', 'EPROTO', 'ERR_TLS_CERT_ALTNAME_INVALID'])
    t.is(connectionFailure(Object.assign(new Error('x'), {code}), url).exitCode, 7, code);
});

test('an error reads as a line, its fields and a hint, with nothing hostile in it', t => {
  const error = new CliError('validation_failed', 'bad\x1b[31m\nmail', {
    requestId: 'r-1',
    hint: 'mfctl domain list',
    fields: [
      {path: 'name', detail: 'is\u202e wrong'},
      {path: '', detail: 'x'},
    ],
  });

  const report = failureReport(error, {format: 'table', isColour: false});

  t.is(report, 'error: bad␛[31m mail (validation_failed, request r-1)\n  name: is� wrong\n  body: x\nhint: mfctl domain list\n');
});

test('with JSON output an error is one object', t => {
  const error = new CliError('not_found', 'no such domain', {exitCode: 5, requestId: 'r-1'});

  const report = failureReport(error, {format: 'ndjson', isColour: false});

  t.deepEqual(JSON.parse(report), {error: {code: 'not_found', detail: 'no such domain', request_id: 'r-1', exit_code: 5}});
  t.is(report.split('\n').length, 2);
});
