// Actions for some of the recipients of mail that is held by a node of an earlier version, which acts for all.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';

testBesideEarlier(
  version => `a node of ${version} is not asked to act for all where some are meant, by its neighbour or by mfctl`,
  async (t, release) => {
    const {alpha, beta, converged, upgrade, sink} = await startBesideEarlier(t, release);
    const {name} = await alpha.createDomain();
    await converged();
    const [ann, ben] = [`ann@${name}`, `ben@${name}`];
    const {node_id, queue_id} = await beta.hold({to: [ann, ben]});
    const here = await alpha.hold({to: [ann, ben]});
    const path = `mail/quarantine/${node_id}/${queue_id}`;
    const id = `${node_id}/${queue_id}`;

    const refused = await alpha.api('POST', `${path}/release`, {body: {recipients: [ann]}});
    const unknown = await alpha.api('POST', `mail/quarantine/${node_id}/neverknown/release`, {body: {recipients: [ann]}});
    const byAlpha = await alpha.mfctl(['quarantine', 'discard', id, '--only', ann]);
    const byBeta = await beta.mfctl(['quarantine', 'discard', `${here.node_id}/${here.queue_id}`, '--only', ann]);

    t.is(refused.status, 503);
    t.regex(refused.json.error.detail, /^node beta runs an earlier version, .*nothing was done/);
    t.is(unknown.status, 404);
    for (const {code, stderr} of [byAlpha, byBeta]) {
      t.is(code, 1);
      t.regex(stderr, /runs an earlier version, which acts for all recipients .*nothing was done/);
    }
    t.deepEqual(sink.mails, []);
    for (const node of [alpha, beta]) t.is((await node.api('GET', 'mail/quarantine')).headers['x-total-count'], '2');
    t.is((await alpha.mfctl(['quarantine', 'release', `${here.node_id}/${here.queue_id}`, '--only', ben])).code, 0);

    await upgrade(beta);
    await converged();
    t.like((await alpha.api('POST', `${path}/release`, {body: {recipients: [ann]}})).json.data, {state: 'released'});
    t.deepEqual(
      sink.mails.map(({recipients}) => recipients),
      [[ben], [ann]],
    );
    t.deepEqual((await beta.api('GET', path)).json.data.recipients, [ben]);
  },
);
