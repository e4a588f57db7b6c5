// Upgrades from every release in released-build.ts to this one: nothing is lost, and a downgrade is possible.
import {cp, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import {startBesideEarlier} from '../helpers/beside-earlier.ts';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {mfdFile, run} from '../helpers/node.ts';
import {buildRelease, releaseMissing, releases} from '../helpers/released-build.ts';
import {underLoad} from '../helpers/rolling-load.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {testFolder} from '../helpers/store.ts';

for (const release of releases) {
  const {version} = release;
  const missing = releaseMissing(release);
  const upgrade = missing === undefined ? test.serial : test.serial.skip;
  if (missing !== undefined) test.serial.skip(`[${version}] ${missing}`, () => undefined);

  upgrade(`a cluster of ${version} is upgraded node by node under load, and nothing is lost`, async t => {
    const former = await buildRelease(t, release);
    const cluster = await startCluster(t, {program: former, maker: former});

    await underLoad(t, cluster, async all => {
      for (const node of all) {
        await delay(1000);
        t.is(await node.stop(), 0, `${node.node_id} ended well`);
        node.runWith(mfdFile);
        await node.start();
      }
    });
  });

  // Later versions know such filters.
  if (version < '0.8')
    upgrade(
      `a filter for all domains made beside a node of ${version} stops no replication, and is in force once that is upgraded`,
      async t => {
        const {alpha, beta, converged, upgrade: upgradeNode} = await startBesideEarlier(t, release);

        const {data: filter} = (
          await alpha.api('POST', 'filters', {body: {action: 'block', match: 'sender_domain', pattern: 'spam.test'}})
        ).json;
        const {id} = await alpha.createDomain({name: 'later.test', ...relayAll});
        await eventually(async () => beta.domain(id));
        await beta.updateDomain(id, {quarantine_threshold: 9000});
        await eventually(async () => (await alpha.domain(id))?.quarantine_threshold === 9000);
        const reply = async () =>
          (await sendMail({port: beta.smtpPort, from: 'a@spam.test', to: 'b@later.test', raw: 'hello\r\n'})).reply;
        t.is((await reply()).code, 250);
        await upgradeNode(beta);

        t.deepEqual((await beta.api('GET', 'filters')).json.data, [filter]);
        t.is((await reply()).code, 550);
        await converged();
      },
    );

  upgrade(`a node of ${version} has everything after its upgrade, and goes back to a backup from before it`, async t => {
    const former = await buildRelease(t, release);
    const {nodes} = await startCluster(t, {nodes: ['alpha'], isProxied: false, program: former, maker: former});
    const {alpha} = nodes;
    const domain = await alpha.createDomain({name: 'held.test'});
    const filter = {action: 'block', match: 'sender_domain', pattern: 'spam.test'};
    await alpha.api('POST', `domains/${domain.id}/filters`, {body: filter});
    await alpha.api('POST', `domains/${domain.id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
    const {key} = await alpha.createKey('read-only');
    const {id: goneKey} = await alpha.createKey('read-only');
    await alpha.api('DELETE', `auth/api-keys/${goneKey}`);
    const {id: goneDomain} = await alpha.createDomain({name: 'gone.test'});
    await alpha.api('POST', `domains/${goneDomain}/filters`, {body: filter});
    await alpha.api('DELETE', `domains/${goneDomain}`);
    const mail = await alpha.hold({to: 'b@held.test'});
    const everything = async () => ({
      domains: (await alpha.api('GET', 'domains')).json.data,
      allKeys: (await alpha.api('GET', 'auth/api-keys')).json.data.map(({id, name}: {id: number; name: string}) => ({id, name})),
      filters: (await alpha.api('GET', `domains/${domain.id}/filters`)).json.data,
      keys: (await alpha.api('GET', `domains/${domain.id}/dkim-keys`)).json.data,
      scope: (await alpha.api('GET', 'auth/me', {key})).json.data.scope,
      mail: (await alpha.api('GET', `mail/quarantine/alpha/${mail.queue_id}`)).json.data,
      body: (await alpha.api('GET', `mail/quarantine/alpha/${mail.queue_id}/body`)).body.toString(),
      created: (await alpha.audit('domain.create')).map(({at, target}) => ({at, target})),
    });
    const before = await everything();
    await alpha.stop();
    const backup = join(await testFolder(t), 'backup');
    await cp(alpha.data, backup, {recursive: true, preserveTimestamps: true});

    alpha.runWith(mfdFile);
    await alpha.start();
    const after = await everything();
    await alpha.hold({to: 'later@held.test'});
    await alpha.stop();
    const refused = await run(former, ['start', '--data', alpha.data]);
    await rm(alpha.data, {recursive: true});
    await cp(backup, alpha.data, {recursive: true, preserveTimestamps: true});
    alpha.runWith(former);
    await alpha.start();

    t.deepEqual(
      [before.domains, before.filters, before.keys, before.allKeys].map(all => all.length),
      [1, 1, 1, 2],
    );
    t.is(before.scope, 'read-only');
    // Its header is read in the background.
    t.true([null, '[]'].includes(after.mail.from && JSON.stringify(after.mail.from)));
    t.deepEqual(after.mail.recipient_states, [
      {address: 'b@held.test', state: 'held', acted_at: null, acted_by: null, requested_at: null},
    ]);
    // What earlier versions did not know.
    t.deepEqual(after, {
      ...before,
      filters: before.filters.map((each: object) => ({...each, authenticated: false})),
      mail: {
        ...before.mail,
        authentication: null,
        from: after.mail.from,
        recipient_states: after.mail.recipient_states,
        release_requested: false,
      },
    });
    t.not(refused.code, 0);
    t.is(refused.stderr.trim().split('\n').length, 1, refused.stderr);
    t.deepEqual(await everything(), before);
    t.is((await alpha.api('GET', 'mail/quarantine')).headers['x-total-count'], '1');
  });
}
