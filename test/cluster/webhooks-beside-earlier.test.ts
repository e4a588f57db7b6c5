// Webhooks in a cluster with a node of 0.8, which does not know such records.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';

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
