// Client addresses as a node handles them: on a socket for IPv4 and IPv6, and limits for those that guess keys.
import {join} from 'node:path';
import test from 'ava';
import {generateApiKey} from '../../shared/api-key-value.ts';
import {eventually} from '../helpers/eventually.ts';
import {createMailNode, startMailNode} from '../helpers/mail-node.ts';
import {addToConfig, makeNode, nodeFolder, openNode} from '../helpers/node.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';

interface LogLine {
  msg: string;
  status?: number;
  remote_address?: string | null;
  client_ip?: string;
  requests?: number;
  too_many?: number;
}

const linesOf = (log: string, msg: string): LogLine[] =>
  log
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as LogLine)
    .filter(line => line.msg === msg);

test('a socket for both kinds of addresses tells audit and log of IPv4 addresses as such', async t => {
  const {root, xdgConfigHome} = await nodeFolder(t);
  const env = {XDG_CONFIG_HOME: xdgConfigHome};
  const report = await makeNode(['init', '--data', join(root, 'data')], {env});
  const listen = (address: string) => `[::]:${address.split(':').at(-1)}`;
  await addToConfig(report.data, {
    api: {listen: listen(report.api_url)},
    smtp: {listen: listen(report.smtp), reverse_lookup: false},
    log: {level: 'debug'},
  });
  const node = createMailNode(await openNode(t, {report, xdgConfigHome, env}), await startSmtpSink(t));
  await node.start();

  await node.createDomain({name: 'both.test'});
  await node.hold({to: 'ben@both.test'});

  const {json} = await node.api('GET', 'audit?action=domain.create');
  t.is(json.data[0].remote_address, '127.0.0.1');
  await eventually(() => linesOf(node.log(), 'mail').length > 0);
  t.deepEqual([...new Set(linesOf(node.log(), 'request').map(({remote_address}) => remote_address))], ['127.0.0.1']);
  t.deepEqual([...new Set(linesOf(node.log(), 'mail').map(({client_ip}) => client_ip))], ['127.0.0.1']);
});

test('unknown keys are too many after twenty in a minute, good ones of the same address are not, and the log is short', async t => {
  const node = await startMailNode(t, {domain: false});

  const answers = [];
  for (let n = 0; n < 60; n += 1) answers.push(await node.api('GET', 'domains', {key: n % 2 ? generateApiKey() : 'mfk_guessed'}));

  t.deepEqual(
    answers.map(({status}) => status),
    [...Array<number>(20).fill(401), ...Array<number>(40).fill(429)],
  );
  const last = answers.at(-1);
  t.is(last?.json.error.code, 'rate_limited');
  t.regex(String(last?.headers['retry-after']), /^([1-9]|[1-5]\d|60)$/);
  t.is(last?.headers['ratelimit-policy'], '"address";q=20;w=60');
  t.regex(String(last?.headers.ratelimit), /^"address";r=0;t=\d+$/);
  t.is((await node.api('GET', 'domains')).status, 200);
  t.is((await node.api('GET', 'domains', {key: null})).json.error.code, 'key_missing');
  const {key, id} = await node.createKey('read-only');
  await node.api('POST', `auth/api-keys/${id}/revoke`);
  t.is((await node.api('GET', 'domains', {key})).json.error.code, 'key_revoked');
  await node.stop();
  t.deepEqual(
    linesOf(node.log(), 'request').flatMap(({status = 0}) => (status > 400 ? [status] : [])),
    [401],
  );
  t.like(linesOf(node.log(), 'requests without a valid API key'), [{requests: 62, too_many: 40, remote_address: '127.0.0.1'}]);
});
