// Events in a cluster with a node of 0.8, which has no event log.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';

testBesideEarlier(
  version => `what a node of ${version} does is live only, on it all is live, and once it is upgraded nothing is repeated`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startBesideEarlier(t, release);
    const {name} = await alpha.createDomain();
    await converged();
    const stream = await watchEvents(t, alpha, {query: '?type=held'});
    const earlier = await watchEvents(t, beta, {query: '?type=released'});
    await Promise.all([stream.listening(), earlier.listening()]);
    const has = async ({events}: typeof stream, queueId: string) =>
      eventually(() => events.find(({data}) => 'queue_id' in data && data.queue_id === queueId), 20_000);

    const there = await beta.hold({to: `a@${name}`});
    const here = await alpha.hold({to: `b@${name}`});
    t.is((await has(stream, there.queue_id)).id, '');
    t.not((await has(stream, here.queue_id)).id, '');
    for (const mail of [here, there]) {
      await alpha.api('POST', `mail/quarantine/${mail.node_id}/${mail.queue_id}/release`);
      await has(earlier, mail.queue_id);
    }

    const lastId = stream.lastId();
    stream.close();
    const missed = await alpha.hold({to: `c@${name}`});
    const again = await watchEvents(t, alpha, {query: '?type=held', lastId});
    await has(again, missed.queue_id);
    await upgrade(beta);
    await converged();
    const later = await beta.hold({to: `d@${name}`});
    t.not((await has(again, later.queue_id)).id, '');

    t.deepEqual(
      again.events.map(({data}) => 'queue_id' in data && data.queue_id),
      [missed.queue_id, later.queue_id],
    );
  },
);
