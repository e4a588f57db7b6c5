// Digests in a cluster with a node of an earlier version, which does not know such records.
import {attemptEarlierJoin, startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {startCluster} from '../helpers/cluster.ts';
import {makeToken} from '../helpers/join-attempt.ts';

testBesideEarlier(
  version => `no digests are set up while a node of ${version} is a member, which is named, and they are once it is upgraded`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startBesideEarlier(t, release);
    const {id} = await alpha.createDomain();
    await converged();
    const path = `domains/${id}/digest`;

    const refused = await alpha.api('PUT', path, {body: {at: '06:30'}});
    t.is(refused.status, 409);
    t.regex(
      refused.json.error.detail,
      new RegExp(`^node beta runs ${release.version.replaceAll('.', '\\.')}, which does not know`),
    );
    t.like((await alpha.api('GET', path)).json.data, {enabled: false, at: '07:00'});
    await upgrade(beta);
    await converged();
    t.is((await alpha.api('PUT', path, {body: {at: '06:30'}})).status, 200);
    await converged();
    t.like((await beta.api('GET', path)).json.data, {at: '06:30'});
  },
);

testBesideEarlier(
  version => `no node of ${version} joins a cluster in which digests were set up`,
  async (t, release) => {
    const {nodes} = await startCluster(t, {nodes: ['alpha'], isProxied: false});
    const {alpha} = nodes;
    const {id} = await alpha.createDomain();
    await alpha.api('PUT', `domains/${id}/digest`, {body: {at: '06:30'}});

    const refused = await attemptEarlierJoin(t, release, await makeToken(alpha), 'beta');

    t.is(refused.code, 1);
    t.regex(
      refused.stderr,
      new RegExp(`the cluster has digests, which mfd ${release.version.replaceAll('.', '\\.')} does not know`),
    );
  },
);
