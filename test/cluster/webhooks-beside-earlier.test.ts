// Webhooks in a cluster with a node of 0.8, which does not know such records.
import {attemptEarlierJoin, startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {startCluster} from '../helpers/cluster.ts';
import {makeToken} from '../helpers/join-attempt.ts';

testBesideEarlier(
  version => `no webhook is made while a node of ${version} is a member, which is named, and one is once it is upgraded`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startBesideEarlier(t, release);
    await converged();
    const body = {url: 'https://hooks.invalid/'};

    const refused = await alpha.api('POST', 'webhooks', {body});
    await beta.stop();
    const whileAway = await alpha.api('POST', 'webhooks', {body});
    await beta.start();
    await converged();
    await upgrade(beta);
    await converged();
    const made = await alpha.api('POST', 'webhooks', {body});
    await converged();

    for (const {status, json} of [refused, whileAway]) {
      t.is(status, 409);
      t.regex(json.error.detail, new RegExp(`^node beta runs ${release.version.replaceAll('.', '\\.')}, which does not know`));
    }
    t.is(made.status, 201);
    t.is((await beta.api('GET', 'webhooks')).json.data.length, 1);
  },
);

testBesideEarlier(
  version => `no node of ${version} joins while there is a webhook, and one may once there is none`,
  async (t, release) => {
    const {nodes, addNode} = await startCluster(t, {nodes: ['alpha'], isProxied: false});
    const {alpha} = nodes;
    const {json} = await alpha.api('POST', 'webhooks', {body: {url: 'https://hooks.invalid/'}});
    const token = await makeToken(alpha);

    const refused = await attemptEarlierJoin(t, release, token, 'beta');
    await addNode('gamma');
    await alpha.api('DELETE', `webhooks/${json.data.id}`);
    const joined = await attemptEarlierJoin(t, release, token, 'beta');

    t.is(refused.code, 1);
    t.regex(
      refused.stderr,
      new RegExp(`the cluster has webhooks, which mfd ${release.version.replaceAll('.', '\\.')} does not know`),
    );
    t.is(joined.code, 0, joined.stderr);
  },
);
