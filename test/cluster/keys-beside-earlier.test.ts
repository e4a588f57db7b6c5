// A key for several domains in a cluster with a node of 0.8, which knows keys for one domain only. On PostgreSQL: beside-earlier.test.ts.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {eventually} from '../helpers/eventually.ts';

testBesideEarlier(
  version =>
    `a node of ${version} gives a key for several domains nothing, is named as one that did not answer, and knows the key once it is upgraded`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startBesideEarlier(t, release);
    const own = [await alpha.createDomain(), await alpha.createDomain()];
    const names = own.map(({name}) => name);
    const other = await alpha.createDomain();
    await eventually(async () => beta.domain(other.id));
    const made = await alpha.createKey('domain-admin', {domains: names});
    const single = await alpha.createKey('domain-admin', {domains: [names[0]]});
    await converged();
    const here = await alpha.hold({to: `a@${names[0]}`});
    const there = await beta.hold({to: `a@${names[1]}`});
    const foreign = await beta.hold({to: `a@${other.name}`});
    const {key} = made;
    const pathOf = ({node_id, queue_id}: typeof here) => `mail/quarantine/${node_id}/${queue_id}`;
    const idsOf = ({json}: {json: {data: {queue_id: string}[]}}) => json.data.map(({queue_id}) => queue_id);

    // At the node of 0.8.
    t.deepEqual((await beta.api('GET', 'auth/me', {key})).json.data.permissions, ['me:read']);
    for (const path of [
      'domains',
      `domains/${own[0]?.id}`,
      'mail/quarantine',
      'mail/quarantine/summary',
      'audit',
      'cluster/status',
    ])
      t.is((await beta.api('GET', path, {key})).status, 403, path);
    for (const mail of [here, there, foreign])
      for (const action of ['release', 'discard']) t.is((await beta.api('POST', `${pathOf(mail)}/${action}`, {key})).status, 403);
    t.is((await beta.api('GET', 'domains', {key: single.key})).json.data.length, 1);

    // Through a node of this version: what the other one has is missing, and that is said.
    const list = await alpha.api('GET', 'mail/quarantine', {key});
    t.deepEqual(idsOf(list), [here.queue_id]);
    t.is(list.headers['x-unreachable-nodes'], 'beta');
    t.is((await alpha.api('GET', 'mail/quarantine?strict=true', {key})).status, 503);
    for (const [method, path] of [
      ['GET', pathOf(there)],
      ['GET', `${pathOf(there)}/body`],
      ['POST', `${pathOf(there)}/discard`],
      ['POST', `${pathOf(foreign)}/discard`],
    ] as const)
      t.is((await alpha.api(method, path, {key})).json.error.code, 'node_unreachable', `${method} ${path}`);
    t.is((await alpha.api('GET', 'domains', {key})).json.data.length, 2);
    t.is((await alpha.api('GET', 'mail/quarantine')).headers['x-total-count'], '3');

    const audited = await alpha.api('GET', `audit?target=${there.node_id}/${there.queue_id}`);
    t.is(
      audited.headers['x-unreachable-nodes'],
      'beta',
      'a node that does not know the filter answers with nothing, not with everything',
    );
    t.deepEqual(audited.json.data, []);

    // With one domain left the record is still none that 0.8 knows.
    await alpha.api('DELETE', `domains/${own[0]?.id}`);
    await eventually(async () => (await beta.domain(own[0]?.id ?? 0)) === undefined);
    t.is((await beta.api('GET', 'mail/quarantine', {key})).status, 403);
    t.is((await alpha.api('GET', 'mail/quarantine', {key})).headers['x-unreachable-nodes'], 'beta');

    await upgrade(beta);
    await converged();

    for (const node of [alpha, beta]) {
      const answer = await node.api('GET', 'mail/quarantine', {key});
      t.is(answer.headers['x-unreachable-nodes'], undefined);
      t.deepEqual(idsOf(answer), [there.queue_id]);
      t.deepEqual((await node.api('GET', 'auth/me', {key})).json.data.domains, names);
      t.is((await node.api('POST', `${pathOf(foreign)}/discard`, {key})).status, 404);
    }
    t.is((await alpha.api('POST', `${pathOf(there)}/discard`, {key})).json.data.state, 'discarded');
    // A revocation by a node of either version counts.
    await beta.api('POST', `auth/api-keys/${made.id}/revoke`);
    t.is((await alpha.api('GET', 'auth/me', {key})).json.error.code, 'key_revoked');
  },
);
