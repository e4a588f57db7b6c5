// The retention of a domain in a cluster with a node of 0.8, which knows no such setting. On PostgreSQL: beside-earlier.test.ts.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {eventually} from '../helpers/eventually.ts';

testBesideEarlier(
  version =>
    `a node of ${version} stores the retention of a domain, changes that domain without a loss, and follows it once it is upgraded`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startBesideEarlier(t, release, {config: {retention: {sweep_interval: 0.5}}});
    const domain = await alpha.createDomain();
    const plain = await alpha.createDomain();
    await eventually(async () => beta.domain(plain.id));
    const path = `domains/${domain.id}`;
    const put = async (node: typeof alpha, part: string, body: object) =>
      t.is((await node.api('PUT', `${path}${part}`, {body})).status, 200);
    const retentionAt = async (node: typeof alpha) => (await node.api('GET', path)).json.data.retention;

    await put(alpha, '/retention', {days: 20, by_reason: {phishing: 60}});
    await converged();
    t.is(await retentionAt(beta), undefined);
    const [here, there] = [await alpha.api('GET', `domains/${plain.id}`), await beta.api('GET', `domains/${plain.id}`)];
    t.deepEqual(here.json.data, there.json.data);
    t.is(here.headers.etag, there.headers.etag, 'a domain without a retention is one and the same for both');

    await put(beta, '', {quarantine_threshold: 4});
    await converged();
    t.deepEqual(await retentionAt(alpha), {days: 20, by_reason: {phishing: 60}});
    t.is((await alpha.api('GET', path)).json.data.quarantine_threshold, 4);
    t.is((await beta.api('PUT', path, {body: {retention: {days: 1}}})).status, 422);
    const warned = await alpha.mfctl(['domain', 'retention', domain.name, '--days', '0.00001', '--yes']);
    t.regex(warned.stderr, /beta runs an earlier version/);
    await converged();

    const held = async () => (await alpha.api('GET', 'mail/quarantine')).headers['x-total-count'];
    await beta.hold({to: `a@${domain.name}`});
    await alpha.hold({to: `a@${domain.name}`});
    await eventually(async () => (await held()) === '1');
    t.is(
      (await beta.api('GET', 'mail/quarantine?node=beta')).headers['x-total-count'],
      '1',
      'it expires its mail by its own setting',
    );

    await upgrade(beta);
    t.deepEqual(await retentionAt(beta), {days: 0.000_01, by_reason: {phishing: 60}});
    await eventually(async () => (await held()) === '0');
    await converged();
  },
);
