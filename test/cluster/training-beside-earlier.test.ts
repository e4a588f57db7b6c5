// Training with a mail that is held by a node of an earlier version.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';

testBesideEarlier(
  version => `a node of ${version} is named as one that cannot train, and its mail stays held`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade} = await startBesideEarlier(t, release);
    const domain = await alpha.createDomain();
    await converged();
    const {node_id, queue_id} = await beta.hold({to: `a@${domain.name}`});
    const train = async (id: string) =>
      (await alpha.api('POST', `mail/quarantine/${node_id}/${id}/train`, {body: {as: 'spam'}})).json.error;

    const refused = await train(queue_id);
    const unknown = await train('neverknown');
    await upgrade(beta);
    await converged();
    const upgraded = await train(queue_id);

    t.like(refused, {
      code: 'conflict',
      detail: 'node beta runs a version that cannot train; nothing was learned, update it first',
    });
    t.is(unknown.code, 'not_found');
    t.regex(upgraded.detail, /^node beta scores mail with the built-in scanner, which learns nothing/);
    t.is((await alpha.api('GET', 'mail/quarantine')).headers['x-total-count'], '1');
  },
);
