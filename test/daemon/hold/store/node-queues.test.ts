import {buffer} from 'node:stream/consumers';
import {setTimeout as delay} from 'node:timers/promises';
import {takeBackOwnClaims} from '../../../../daemon/hold/store/node-queues.ts';
import {Fault, type FaultCode} from '../../../../shared/fault.ts';
import {type HoldNode, startHoldNode} from '../../../helpers/common-hold.ts';
import {newCluster} from '../../../helpers/common-store.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {operator, trace} from '../../../helpers/hold-queue.ts';
import {sample} from '../../../helpers/received-mail.ts';
import type {Teardown} from '../../../helpers/store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const id = 'Q1w2E3r4T5';
const ofAlpha = {node_id: 'alpha', queue_id: id};
const claim = {state: 'releasing', keyId: 1} as const;

const codeOf = async (work: Promise<unknown>): Promise<FaultCode | 'done'> =>
  work.then(
    () => 'done' as const,
    error => {
      if (error instanceof Fault) return error.code;
      throw error;
    },
  );

const startTwo = async (t: Teardown, withinMs = 14_000) => {
  const settings = await newCluster(postgres());
  const alpha = await startHoldNode(t, settings, {withinMs});
  const beta = await startHoldNode(t, settings, {nodeId: 'beta', nodeNo: 2, withinMs});
  const members = ['alpha', 'beta'];
  Object.assign(alpha, {members});
  Object.assign(beta, {members});
  const endLeases = async () => postgres().query("UPDATE held_mail SET lease_until = now() - interval '1 s'", settings);
  return {alpha, beta, settings, endLeases};
};

const stateOf = async (node: HoldNode) => (await node.store.of('alpha').hold.find(id))?.state;
const actOn = async (node: HoldNode, action: 'release' | 'discard' = 'release') =>
  (await node.queues.find(ofAlpha)).queue.act(action, id, operator);

testWithPostgres('any node reads and releases mail of another, in the name of the node that took it in', async t => {
  const {alpha, beta} = await startTwo(t);
  await alpha.hold(id);
  const {queue} = await beta.queues.find(ofAlpha);

  const detail = await queue.get(id, operator);
  const body = await buffer((await queue.body(id, operator)).stream);
  const outcome = await queue.act('release', id, operator);

  t.is(detail.node_id, 'alpha');
  t.true(body.equals(Buffer.concat([trace, sample('plain.eml')])));
  t.like(outcome, {node_id: 'alpha', queue_id: id, state: 'released', already: false});
  t.deepEqual(beta.acted, [outcome]);
  t.is(beta.deliveries.length, 1);
  const {entries} = await beta.store.audit.list({}, {limit: 10, offset: 0});
  t.deepEqual(
    entries.map(({action, target, result}) => `${action} ${target} ${result}`),
    [`quarantine.release alpha/${id} ok`, `quarantine.body alpha/${id} ok`],
  );
  t.like(await actOn(alpha), {state: 'released', already: true, acted_at: outcome.acted_at});
  t.is(await codeOf(actOn(alpha, 'discard')), 'conflict');
});

testWithPostgres('nodes that do not exist get no queue, and many mails of them are one question', async t => {
  const {alpha} = await startTwo(t);
  const opened: string[] = [];
  const asked: number[] = [];
  const {store} = alpha;
  const {of} = store;
  const {keepersOf} = store.heldQuery;
  store.of = nodeId => {
    opened.push(nodeId);
    return of(nodeId);
  };
  store.heldQuery.keepersOf = async mails => {
    asked.push(mails.length);
    return keepersOf(mails);
  };

  const codes = await Promise.all(
    Array.from({length: 100}, async (_, n) => codeOf(alpha.queues.find({node_id: `nobody${n}`, queue_id: id}))),
  );

  t.deepEqual(new Set(codes), new Set(['unknown_node']));
  t.deepEqual(opened, []);
  t.deepEqual(asked, [100]);
});

testWithPostgres('nodes that act on the same mails in other orders never wait for each other’s locks', async t => {
  const {alpha, beta} = await startTwo(t);
  for (let round = 1; round <= 8; round += 1) {
    const ids = Array.from({length: 30}, (_, n) => `Mail${round}000${10 + n}`);
    for (const queueId of ids) await alpha.hold(queueId);
    // Each action is a statement of its own, so one node begins with the mails that the other ends with.
    const [some, others] = [ids.slice(15), ids.slice(0, 15)];
    const act = (node: HoldNode, action: 'release' | 'discard', of: string[]) =>
      of.map(async queueId => node.queues.of('alpha').act(action, queueId, operator).catch(codeOfError));

    const [first, second] = [act(alpha, 'release', some), act(beta, 'release', others)];
    await Promise.all([...first, ...second, ...act(alpha, 'discard', others), ...act(beta, 'discard', some)]);
  }

  t.notRegex(await postgres().log(), /deadlock detected/);
});

testWithPostgres('in races on two nodes each mail has one winner, and is delivered only if that is a release', async t => {
  const {alpha, beta} = await startTwo(t);
  const ids = Array.from({length: 20}, (_, n) => `Mail0000${10 + n}`);
  for (const queueId of ids) await alpha.hold(queueId);

  const outcomes = await Promise.all(
    ids.flatMap((queueId, n) => [
      alpha.queues
        .of('alpha')
        .act(n % 2 ? 'release' : 'discard', queueId, operator)
        .catch(codeOfError),
      beta.queues.of('alpha').act('release', queueId, operator).catch(codeOfError),
    ]),
  );

  const firsts = outcomes.filter(one => typeof one === 'object' && !one.already);
  const released = firsts.filter(one => typeof one === 'object' && one.state === 'released');
  t.is(firsts.length, ids.length);
  t.is(alpha.deliveries.length + beta.deliveries.length, released.length);
});

const codeOfError = (error: Fault) => error.code;

testWithPostgres('a release during one of another node waits for its result, and delivers nothing', async t => {
  const {alpha, beta} = await startTwo(t);
  await alpha.hold(id);
  let finish = () => {};
  alpha.answer = async () => {
    await new Promise<void>(resolve => {
      finish = resolve;
    });
    return 'delivered';
  };
  const first = actOn(alpha);
  await eventually(async () => (await stateOf(beta)) === 'releasing');

  const second = actOn(beta);
  await delay(300);
  finish();

  t.like(await first, {already: false});
  t.like(await second, {state: 'released', already: true});
  t.is(beta.deliveries.length, 0);
});

testWithPostgres('a claim of another node is left alone, and its caller learns in time that the outcome is unknown', async t => {
  const {alpha, beta} = await startTwo(t, 400);
  await alpha.hold(id);
  await alpha.store.transaction(async tx => tx.hold.claim([id], claim));

  const code = await codeOf(actOn(beta));

  t.is(code, 'outcome_unknown');
  t.is(await stateOf(beta), 'releasing');
  t.true(await alpha.store.leases.isOwn(id));
  t.false(await beta.queues.of('alpha').expire(id));
  t.is(beta.deliveries.length, 0);
});

testWithPostgres('a release goes on when the lease of a dead node has ended', async t => {
  const {alpha, beta, endLeases} = await startTwo(t);
  await alpha.hold(id);
  await alpha.store.transaction(async tx => tx.hold.claim([id], claim));

  const release = actOn(beta);
  await delay(200);
  await endLeases();
  await beta.store.leases.giveBack();

  t.like(await release, {state: 'released', already: false});
  t.is(beta.deliveries.length, 1);
});

testWithPostgres(
  'a mail that was delivered is not delivered again when its lease ended before that could be recorded',
  async t => {
    const {alpha, beta, endLeases} = await startTwo(t);
    await alpha.hold(id);
    alpha.answer = async () => {
      alpha.beforeWrite = async () => {
        throw new Fault('unavailable', 'the store cannot be reached');
      };
      return 'delivered';
    };

    const code = await codeOf(actOn(alpha));
    await endLeases();
    await beta.store.leases.giveBack();
    alpha.beforeWrite = async () => {};
    await alpha.queues.catchUp();

    t.is(code, 'outcome_unknown');
    t.like(await actOn(beta), {state: 'released', already: true});
    t.is(alpha.deliveries.length + beta.deliveries.length, 1);
  },
);

testWithPostgres('a failed release whose mail could not be held again is so later, without those who received it', async t => {
  const {alpha, beta} = await startTwo(t);
  await alpha.hold(id, {envelope: {recipients: ['a@example.com', 'b@example.com']}});
  alpha.answer = async recipient => {
    alpha.beforeWrite = async () => {
      throw new Fault('unavailable', 'the store cannot be reached');
    };
    return recipient.startsWith('a') ? 'delivered' : 'deferred';
  };
  await codeOf(actOn(alpha));
  const before = await stateOf(beta);

  alpha.beforeWrite = async () => {};
  await alpha.queues.catchUp();
  await actOn(beta);

  t.is(before, 'releasing');
  t.deepEqual(
    beta.deliveries.map(({recipients}) => recipients),
    [['b@example.com']],
  );
});

testWithPostgres('a claim of which nobody can say whether it was made does not block the mail', async t => {
  const {alpha, beta} = await startTwo(t);
  await alpha.hold(id);
  alpha.beforeWrite = async () => {
    alpha.beforeWrite = async () => {};
    await alpha.store.transaction(async tx => tx.hold.claim([id], claim));
    throw new Fault('outcome_unknown', 'the connection was lost during the commit');
  };

  const code = await codeOf(actOn(alpha));
  await alpha.queues.catchUp();

  t.is(code, 'outcome_unknown');
  t.like(await actOn(beta), {state: 'released', already: false});
});

testWithPostgres('at start a node holds again what it had claimed itself, and leaves the claims of others', async t => {
  const {alpha, beta} = await startTwo(t);
  const retention_ms = {spam: 1, phishing: 1, sandbox: 1, rbl: 1};
  for (const node of [alpha, beta]) await node.store.notePresence({seq: 0, retention_ms, longest_ms: retention_ms});
  await alpha.hold(id);
  await alpha.hold('Mail000002');
  await beta.store.of('alpha').transaction(async tx => tx.hold.claim([id], claim));
  await alpha.store.transaction(async tx => tx.hold.claim(['Mail000002'], claim));

  await takeBackOwnClaims(beta.store);

  t.is(await stateOf(alpha), 'held');
  t.is((await alpha.store.hold.find('Mail000002'))?.state, 'releasing');
});

testWithPostgres('mail of a removed node is still there, and a node that never was is unknown', async t => {
  const {alpha, beta} = await startTwo(t);
  await alpha.hold(id);
  beta.members = ['beta'];

  t.is(await codeOf(beta.queues.find({node_id: 'alpha', queue_id: 'Mail000099'})), 'unknown_node');
  t.is(await codeOf(beta.queues.find({node_id: 'nowhere', queue_id: id})), 'unknown_node');
  t.like(await actOn(beta), {node_id: 'alpha', state: 'released'});
});
