import {readFile} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import {type Client, createClient} from '../../../cli/client/client.ts';
import type {TransportOptions} from '../../../cli/client/transport.ts';
import {mail} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const clientOf = async (
  t: ExecutionContext,
  answers: Record<string, Reply | (() => Promise<Reply>)>,
  options: Pick<TransportOptions, 'end' | 'readSilenceMs'>,
): Promise<Client> => {
  const api = await startApi(t, answers);
  const connection = {
    baseUrl: new URL(`${api.url}/api/v1/`),
    apiKey: undefined,
    ca: await readFile(api.env.MFCTL_CACERT, 'utf8'),
  };
  return createClient({connection, version: '1', log: () => {}, ...options});
};

const slowly = (data: unknown) => async (): Promise<Reply> => {
  await new Promise(resolve => setTimeout(resolve, 1000));
  return {data};
};

test('a read is given up soon, a change has its time, and a request that says how long it may take has that', async t => {
  const path = `/mail/quarantine/${mail.node_id}/${mail.queue_id}/release`;
  const answers = {'GET /cluster/status': slowly({}), [`POST ${path}`]: slowly({}), 'GET /cluster/drift': slowly({})};
  const client = await clientOf(t, answers, {end: new AbortController().signal, readSilenceMs: 300});

  const read = client.cluster.status();
  const change = client.quarantine.act('release', mail);
  const patient = client.cluster.drift({silenceMs: 60_000});

  await t.throwsAsync(read, {message: /^timeout: /});
  await t.notThrowsAsync(change);
  await t.notThrowsAsync(patient);
});

test('the end aborts what is under way and what is asked later, and the request’s own signal aborts it alone', async t => {
  const end = new AbortController();
  const own = new AbortController();
  const client = await clientOf(t, {'GET /cluster/status': {isHeld: true}}, {end: end.signal});

  const withOwn = client.cluster.status({signal: own.signal});
  const underWay = client.cluster.status();
  own.abort(new Error('not wanted any more'));
  await t.throwsAsync(withOwn, {message: 'not wanted any more'});
  end.abort(new Error('the dashboard has been left'));

  await t.throwsAsync(underWay, {message: 'the dashboard has been left'});
  await t.throwsAsync(client.cluster.status(), {message: 'the dashboard has been left'});
});

test('a download that has begun goes on after the end', async t => {
  const end = new AbortController();
  const path = `/mail/quarantine/${mail.node_id}/${mail.queue_id}/body`;
  const stream: Reply['stream'] = response => {
    response.write('Subject: ');
    setTimeout(() => response.end('x'), 300);
  };
  const client = await clientOf(t, {[`GET ${path}`]: {stream}}, {end: end.signal});

  const body = await client.quarantine.body(mail);
  end.abort(new Error('the dashboard has been left'));

  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  t.is(Buffer.concat(chunks).toString(), 'Subject: x');
});
