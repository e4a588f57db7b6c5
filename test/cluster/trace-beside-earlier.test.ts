// The trace in a cluster with a node of 0.8, which has no event log.
import {startBesideEarlier, testBesideEarlier} from '../helpers/beside-earlier.ts';
import {eventually} from '../helpers/eventually.ts';

testBesideEarlier(
  version => `a node of ${version} is named as one without an answer to the trace, and its held mail is shown without a history`,
  async (t, release) => {
    const {alpha, beta, converged} = await startBesideEarlier(t, release);
    const {name} = await alpha.createDomain();
    await converged();
    const here = await alpha.hold({to: `a@${name}`});
    const there = await beta.hold({to: `b@${name}`});

    const found = await eventually(async () => {
      const answer = await alpha.mfctl(['trace', 'find', '--domain', name]);
      return answer.stdout.includes(here.queue_id) && answer;
    });
    const story = await alpha.mfctl(['trace', 'show', `beta/${there.queue_id}`, '--retry-for', '0s']);
    const mail = await alpha.mfctl(['quarantine', 'show', `beta/${there.queue_id}`]);

    t.is(found.stderr, 'warning: the list is incomplete: beta did not answer\n');
    t.is(mail.code, 0, mail.stderr);
    t.is(story.code, 7);
    t.regex(story.stderr, /node beta runs a version without an event log; update it first/);
  },
);
