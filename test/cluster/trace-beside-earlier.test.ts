// The event log in a cluster with a node of 0.8, which has none.
import {startEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';

testBesideEarlier(
  version => `a node of ${version} is named as one that tells nothing of its mail, until it is upgraded and has a log of its own`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startEarlier(t, release);
    const {name} = await alpha.createDomain();
    await converged();
    await upgrade(alpha);
    const here = await alpha.hold({to: `a@${name}`});
    const there = await beta.hold({to: `a@${name}`});
    const trace = async (path = '') => alpha.api('GET', `mail/trace${path}`);

    const found = await trace();
    t.deepEqual(
      found.json.data.map(({queue_id}: {queue_id: string}) => queue_id),
      [here.queue_id],
    );
    t.is(found.headers['x-unreachable-nodes'], 'beta');
    t.is((await trace('?strict=true')).status, 503);
    const asked = await trace(`/beta/${there.queue_id}`);
    t.is(asked.status, 503);
    t.is(asked.json.error.detail, 'node beta runs a version without an event log; update it first');
    const one = await alpha.mfctl(['trace', 'show', `alpha/${here.queue_id}`]);
    t.is(one.code, 0, one.stderr);

    await upgrade(beta);
    const later = await beta.hold({to: `a@${name}`});
    t.is((await trace(`/beta/${later.queue_id}`)).json.data[0].event, 'held');
    t.is((await trace(`/beta/${there.queue_id}`)).status, 404, 'what happened before there was a log');
    t.is((await trace()).headers['x-unreachable-nodes'], undefined);
  },
);
