import test from 'ava';
import {deprecationHeaders} from '../../../daemon/http/api/announce-deprecations.ts';
import {healthEvent} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';
import {mark} from '../../helpers/deprecated-api.ts';

/** The headers of the real middleware. */
const headers = deprecationHeaders('GET /old/{id}', mark);

const domain = {id: 1, name: 'a.test', direction: 'inbound', active: true, backend_servers: ['mx.test:25']};

test('a command that uses something deprecated says so in one line, after everything else', async t => {
  const api = await startApi(t, {
    'GET /domains': {data: [domain], headers},
    'GET /domains/1': {data: domain, headers},
  });

  const {code, stdout, stderr} = await api.mfctl(['domain', 'get', 'a.test', '--json', 'name']);

  t.is(api.requests.length, 2);
  t.is(code, 0);
  t.deepEqual(JSON.parse(stdout), {name: 'a.test'});
  t.is(stderr, 'warning: GET /old/{id} is deprecated since 2027-01-01, and goes away on 2027-07-01\n');
});

test('several deprecated features, as a node of another version may name them, are reported in one line', async t => {
  const parameter = {
    Deprecation: '@1801440000',
    Sunset: 'Sun, 15 Aug 2027 00:00:00 GMT',
    'X-Deprecated': 'parameter colour of GET /things',
  };
  const fields = {
    Deprecation: '@1799971200',
    Sunset: 'Wed, 01 Sep 2027 00:00:00 GMT',
    'X-Deprecated': 'field weight of POST /things, field parts.kind of POST /things',
  };
  const api = await startApi(t, {
    'GET /domains': {data: [domain], headers: parameter},
    'GET /domains/1': {data: domain, headers: fields},
  });

  t.is(
    (await api.mfctl(['domain', 'get', 'a.test'])).stderr,
    'warning: parameter colour of GET /things is deprecated since 2027-02-01, and goes away on 2027-08-15; ' +
      'field weight of POST /things and field parts.kind of POST /things are deprecated since 2027-01-15, and go away on 2027-09-01\n',
  );
});

test('mfctl api, streams, downloads and failures tell of it too, and -q never', async t => {
  const event = `event: health\ndata: ${JSON.stringify(healthEvent)}\n\n`;
  const api = await startApi(t, {
    'POST /things': {data: null, headers},
    'GET /domains': {status: 403, error: {code: 'insufficient_scope', detail: 'no'}, headers},
    'GET /events': {headers: {'content-type': 'text/event-stream', ...headers}, stream: response => response.write(event)},
    'GET /mail/quarantine/mx1/abcdef/body': {
      raw: 'Subject: x\r\n\r\nx\r\n',
      headers: {'content-type': 'text/rfc822', ...headers},
    },
  });
  const warning = /^warning: GET \/old\/\{id\} is deprecated since 2027-01-01, and goes away on 2027-07-01\n$/m;

  for (const argv of [
    ['api', 'POST', '/things', '--data', '{}'],
    ['domain', 'list'],
    ['events', '--limit', '1'],
    ['quarantine', 'body', 'mx1/abcdef'],
  ]) {
    t.regex((await api.mfctl(argv)).stderr, warning, argv.join(' '));
    t.false((await api.mfctl([...argv, '-q'])).stderr.includes('warning'), argv.join(' '));
  }
});

test('headers of another program, or hostile ones, make a line that is safe to show', async t => {
  const stderrWith = async (headers: Record<string, string>) => {
    const api = await startApi(t, {'GET /domains': {data: [], headers}});
    return (await api.mfctl(['domain', 'list', '-o', 'json'])).stderr;
  };

  t.is(await stderrWith({deprecation: '@1798761600'}), 'warning: GET /domains is deprecated since 2027-01-01\n');
  t.is(await stderrWith({deprecation: 'true', sunset: 'never'}), 'warning: GET /domains is deprecated\n');
  t.is(await stderrWith({deprecation: '@999999999999', 'x-deprecated': 'a\u009b2Jb'}), 'warning: a\ufffd2Jb is deprecated\n');
  t.is(await stderrWith({sunset: 'Thu, 01 Jul 2027 00:00:00 GMT'}), '');
});
