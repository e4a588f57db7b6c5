// A node of 0.8 beside one of this version on one PostgreSQL, as in an upgrade of one node after the other.
import {isDeepStrictEqual} from 'node:util';
import {startBesideEarlier, startEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {type PostgresServer, startPostgres} from '../helpers/postgres-server.ts';
import {type Release, releaseMissing} from '../helpers/released-build.ts';

const missingOf = (release: Release): string | undefined => postgresMissing() ?? releaseMissing(release);

const dataOf = async (node: ClusterNode, path: string) => (await node.api('GET', path)).json.data;

/** What a node of 0.8 looks for in its tables and finds only in the fields of all records of a kind. */
const searchesOfAllRecords = async ({query}: PostgresServer): Promise<string[]> => {
  const [found] = await query<{datname: string}>(
    "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'",
  );
  const searches = ['node WHERE id = 1', 'domain WHERE id = 1', "api_key WHERE key_hash = ''"];
  const slow: string[] = [];
  for (const search of [...searches, 'mail_filter WHERE domain_id = 1', 'dkim_key WHERE domain_id = 1']) {
    const plan = await query<{'QUERY PLAN': string}>(`EXPLAIN SELECT id FROM ${search}`, {database: found?.datname ?? ''});
    if (plan.some(line => line['QUERY PLAN'].includes('fields'))) slow.push(search);
  }
  return slow;
};

testBesideEarlier(
  version =>
    `keys, domains and mail work on a node of ${version} and on one of this version, and each sees what the other changed`,
  async (t, release) => {
    const server = await startPostgres(t);
    const {alpha, beta, sink, upgrade} = await startEarlier(t, release, {postgres: server});
    const before = await alpha.createDomain({
      name: 'before.test',
      tenant_id: 'a "tenant"',
      quarantine_threshold: 5.602871201592174,
    });
    const filter = {action: 'allow', match: 'sender', pattern: 'a@before.test'};
    await alpha.api('POST', `domains/${before.id}/filters`, {body: filter});
    await alpha.api('POST', `domains/${before.id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
    const gone = await alpha.createDomain({name: 'gone.test'});
    await alpha.api('DELETE', `domains/${gone.id}`);
    const everything = async (node: ClusterNode) => ({
      domains: await dataOf(node, 'domains'),
      etag: (await node.api('GET', `domains/${before.id}`)).headers.etag,
      filters: await dataOf(node, `domains/${before.id}/filters`),
      keys: await dataOf(node, `domains/${before.id}/dkim-keys`),
    });
    const earlier = await everything(alpha);
    await eventually(async () => isDeepStrictEqual(await everything(beta), earlier));

    await upgrade(alpha);

    t.deepEqual(await everything(alpha), earlier);
    t.deepEqual(await everything(beta), earlier);
    t.deepEqual(await searchesOfAllRecords(server), []);
    for (const [here, there] of [
      [alpha, beta],
      [beta, alpha],
    ] as const) {
      const {name, id} = await here.createDomain({name: `${here.node_id}.test`});
      await eventually(async () => there.domain(id));
      t.deepEqual(await there.domain(id), await here.domain(id));
      const stale = {'if-match': (await there.api('GET', `domains/${id}`)).headers.etag ?? ''};
      await here.updateDomain(id, {quarantine_threshold: 3});
      await eventually(async () => (await there.domain(id))?.quarantine_threshold === 3);
      t.is((await there.api('PUT', `domains/${id}`, {body: {quarantine_threshold: 2}, headers: stale})).status, 412);
      await here.api('POST', `domains/${id}/filters`, {body: filter});
      await here.api('POST', `domains/${id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
      for (const part of ['filters', 'dkim-keys'])
        t.deepEqual(await dataOf(there, `domains/${id}/${part}`), await dataOf(here, `domains/${id}/${part}`));

      const made = await here.createKey('read-only');
      t.is((await there.api('GET', 'domains', {key: made.key})).status, 200);
      t.deepEqual(
        (await dataOf(there, 'auth/api-keys')).map((key: {id: number}) => key.id),
        (await dataOf(here, 'auth/api-keys')).map((key: {id: number}) => key.id),
      );
      t.is((await dataOf(there, 'audit?action=key.create'))[0].key_name, 'admin');
      await there.api('POST', `auth/api-keys/${made.id}/revoke`);
      t.is((await here.api('GET', 'domains', {key: made.key})).status, 401);
      t.is((await there.api('DELETE', `auth/api-keys/${made.id}`)).status, 200);

      const mail = await there.hold({to: `ben@${name}`, subject: `held by ${there.node_id}`});
      const path = `mail/quarantine/${mail.node_id}/${mail.queue_id}`;
      t.like((await here.api('POST', `${path}/release`)).json.data, {state: 'released', already: false});
      t.is((await there.api('DELETE', `domains/${id}`)).status, 200);
      await eventually(async () => (await here.domain(id)) === undefined);
      t.is((await here.api('POST', 'domains', {body: {name, backend_servers: [here.backend]}})).status, 201);
    }
    t.is(sink.mails.length, 2);

    // A node of 0.8 knows keys for one domain only: it gives one for several nothing.
    const own = [before, await alpha.createDomain({name: 'second.test'})];
    const {key} = await alpha.createKey('domain-admin', {domains: own.map(({name}) => name)});
    const ownMail = await beta.hold({to: 'ben@second.test'});
    await beta.hold({to: 'ben@alpha.test'});
    t.deepEqual((await beta.api('GET', 'auth/me', {key})).json.data.permissions, ['me:read']);
    for (const path of ['domains', 'mail/quarantine', `mail/quarantine/beta/${ownMail.queue_id}`, 'audit'])
      t.is((await beta.api('GET', path, {key})).status, 403, path);
    const seen = await alpha.api('GET', 'mail/quarantine', {key});
    t.is(seen.headers['x-total-count'], '1');
    t.is(seen.json.data[0].queue_id, ownMail.queue_id);
    t.deepEqual(
      (await dataOf(beta, 'auth/api-keys')).map((each: {id: number}) => each.id),
      (await dataOf(alpha, 'auth/api-keys')).map((each: {id: number}) => each.id),
    );

    // It does not read the header From of what it holds: the other node does.
    const forged = await beta.hold({to: 'ben@second.test', headers: 'From: "CEO" <Ceo@Bank.test>\r\n'});
    await eventually(async () => (await dataOf(alpha, 'mail/quarantine?from=bank.test')).length === 1);
    t.like((await dataOf(alpha, 'mail/quarantine?address=ceo@bank.test'))[0], {...forged, from: ['ceo@bank.test']});

    await upgrade(beta);
    const atBeta = await everything(beta);
    t.deepEqual(atBeta, await everything(alpha));
    t.deepEqual(
      atBeta.domains.map(({name}: {name: string}) => name),
      ['alpha.test', 'before.test', 'beta.test', 'second.test'],
    );
    t.is((await beta.api('GET', 'domains', {key})).json.data.length, 2);
  },
  missingOf,
);

testBesideEarlier(
  version => `a node of ${version} expires no mail of a node of this version earlier than the domain of the mail asks`,
  async (t, release) => {
    const {alpha, beta, upgrade} = await startBesideEarlier(t, release, {
      postgres: await startPostgres(t),
      config: {retention: {days: 0.000_01, sweep_interval: 0.5}},
    });
    const domain = await alpha.createDomain();
    const plain = await alpha.createDomain();
    await alpha.api('PUT', `domains/${domain.id}/retention`, {body: {days: 30}});
    await eventually(async () => beta.domain(plain.id));
    const idsIn = async (node: ClusterNode) =>
      (await dataOf(node, 'mail/quarantine')).map(({queue_id}: {queue_id: string}) => queue_id);
    const kept = await alpha.hold({to: `a@${domain.name}`});
    await alpha.hold({to: `a@${plain.name}`});

    await eventually(async () => isDeepStrictEqual(await idsIn(alpha), [kept.queue_id]));
    await alpha.stop();
    for (const local of ['a', 'b']) {
      await beta.hold({to: `${local}@${plain.name}`});
      await eventually(async () => isDeepStrictEqual(await idsIn(beta), [kept.queue_id]));
    }
    t.is((await beta.api('GET', 'mail/quarantine?node=alpha')).headers['x-total-count'], '1');
    await upgrade(beta);
    await beta.hold({to: `c@${plain.name}`});
    await eventually(async () => isDeepStrictEqual(await idsIn(beta), [kept.queue_id]));

    t.is((await beta.api('DELETE', `domains/${domain.id}/retention`)).status, 200);
    await eventually(async () => isDeepStrictEqual(await idsIn(beta), []));
  },
  missingOf,
);
