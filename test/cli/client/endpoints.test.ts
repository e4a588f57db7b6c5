// Check that the client of mfctl has each endpoint of the administrators' API description and no other, and that no other file of
// mfctl names one.
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {type Client, clientOver} from '../../../cli/client/client.ts';
import type {Request} from '../../../cli/client/transport.ts';
import {isDescribed, operations} from '../../helpers/cli/endpoints.ts';

const cli = fileURLToPath(new URL('../../../cli', import.meta.url));
const mail = {node_id: 'mx1', queue_id: 'abcdef'};
const filter = {action: 'allow', match: 'subject', pattern: '*'} as const;

/** Each method once. */
const askAll = async ({keys, domains, quarantine, cluster, ...client}: Client): Promise<void> => {
  await client.me();
  await keys.list();
  await keys.create({name: 'x'});
  await keys.revoke(1, {force: true});
  await keys.remove(1);
  await domains.list();
  await domains.get(1);
  await domains.test(1);
  await domains.create({name: 'example.com'});
  await domains.update(1, {active: true}, '"1"');
  await domains.remove(1);
  await domains.filters(1);
  await domains.addFilter(1, filter);
  await domains.removeFilter(1, 2);
  await client.filters.list();
  await client.filters.add(filter);
  await client.filters.remove(2);
  await domains.dkimKeys(1);
  await domains.createDkimKey(1, {selector: 'x'});
  await domains.removeDkimKey(1, 'x');
  await quarantine.list({});
  await quarantine.summary();
  await quarantine.get(mail);
  await quarantine.body(mail);
  await quarantine.train(mail, 'ham');
  await client.trace.find({});
  await client.trace.show(mail);
  for (const action of ['release', 'discard'] as const) {
    await quarantine.act(action, mail);
    await quarantine.actOnMany(action, [mail]);
  }
  await cluster.status();
  await cluster.drift();
  await cluster.createToken();
  await cluster.node('mx1');
  await cluster.removeNode('mx1', {force: true, revokeKeys: true});
  await client.audit.list({});
  await domains.dns(1, {check: true});
  await domains.retention(1);
  await domains.setRetention(1, {days: 14});
  await domains.removeRetention(1);
  await domains.digest(1);
  await domains.setDigest(1, {enabled: true});
  await domains.digestPreview(1, 'a@example.com');
  await domains.sendDigests(1);
  await client.dmarc.summary({domain: 'example.com'});
  await client.dmarc.sources({domain: 'example.com', verified: true});
  await client.dmarc.reports({});
  await client.dmarc.preview('2026-03-01', 'bank.test');
  await client.webhooks.list();
  await client.webhooks.get(1);
  await client.webhooks.add({url: 'https://hooks.test/'});
  await client.webhooks.remove(1);
  await client.webhooks.test(1);
  await client.webhooks.replay(1, {since: '2026-03-01T09:30:00Z'});
  await client.webhooks.deliveries(1, {state: 'given_up'});
  await client.openapi(true);
};

const requestsOfAll = async (): Promise<Request[]> => {
  const requests: Request[] = [];
  const note = async (request: Request): Promise<never> => {
    requests.push(request);
    return {} as never;
  };
  const events = async (): Promise<never> => {
    throw new Error('the transport names the path of events');
  };
  await askAll(clientOver({send: note, raw: note, download: path => note({path}), events}));
  return requests;
};

test('every request of the client is described', async t => {
  const requests = (await requestsOfAll()).filter(({path}) => !path.startsWith('openapi'));

  t.true(requests.length > 20);
  t.deepEqual(
    requests.filter(({method = 'GET', path}) => !isDescribed(`/${path}`, method)).map(({path}) => path),
    [],
  );
});

test('every operation that is described has its method', async t => {
  const requests = await requestsOfAll();
  const missing = operations.filter(
    ({method, segments}) =>
      !requests.some(({method: asked = 'GET', path}) => {
        const words = `/${path}`.split('/');
        return (
          asked === method &&
          words.length === segments.length &&
          segments.every((one, n) => one.startsWith('{') || one === words[n])
        );
      }),
  );

  t.deepEqual(
    missing.map(({method, segments}) => `${method} ${segments.join('/')}`),
    ['GET /events'],
  );
});

test('a path that is not described is noticed', t => {
  t.false(isDescribed('/domains/{}/aliases'));
  t.false(isDescribed('/domains', 'PATCH'));
  t.true(isDescribed('/mail/quarantine/mx1/abcdef/release', 'POST'));
});

const pathText =
  /\bpath: ['`](?:auth|audit|cluster|domains|events|filters|mail|openapi)\b|['`](?:auth\/(?:me|api-keys)|domains\/|mail\/quarantine|cluster\/(?:status|drift|tokens|nodes)|audit\?)/;

test('no file but the client names a path of the API', async t => {
  const files = (await readdir(cli, {recursive: true})).filter(file => /\.tsx?$/.test(file));
  const found: string[] = [];
  for (const file of files) if (pathText.test(await readFile(join(cli, file), 'utf8'))) found.push(file);

  t.true(found.includes('client/client.ts'));
  t.deepEqual(
    found.filter(file => !file.startsWith('client/')),
    [],
  );
});
