// Actions for some of the recipients by two nodes on one store.
import {Fault} from '../../../../shared/fault.ts';
import type {HoldAction} from '../../../../shared/held-mail.ts';
import {type HoldNode, startHoldNode} from '../../../helpers/common-hold.ts';
import {newCluster} from '../../../helpers/common-store.ts';
import {operator} from '../../../helpers/hold-queue.ts';
import type {Teardown} from '../../../helpers/store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const id = 'Q1w2E3r4T5';
const [ann, ben, cat] = ['ann@example.com', 'ben@example.com', 'cat@example.com'];

const startTwo = async (t: Teardown) => {
  const settings = await newCluster(postgres());
  const [alpha, beta] = [
    await startHoldNode(t, settings),
    await startHoldNode(t, settings, {nodeId: 'beta', nodeNo: 2}),
  ] as const;
  for (const node of [alpha, beta]) node.members = ['alpha', 'beta'];
  await alpha.hold(id, {envelope: {recipients: [ann, ben, cat]}});
  const endLease = async () => {
    await postgres().query("UPDATE held_mail SET lease_until = now() - interval '1 s'", settings);
    await beta.store.leases.giveBack();
  };
  return {alpha, beta, endLease};
};

const actOn = async (node: HoldNode, action: HoldAction, recipients?: string[]) =>
  (await node.queues.find({node_id: 'alpha', queue_id: id})).queue.act(action, id, operator, recipients);
const tell = async (work: Promise<{state: string; already: boolean}>): Promise<string> =>
  work.then(
    ({state, already}) => `${state}${already ? ' before' : ''}`,
    error => {
      if (error instanceof Fault) return error.code;
      throw error;
    },
  );
const deliveredBy = (...nodes: HoldNode[]): string[] =>
  nodes.flatMap(({deliveries}) => deliveries.flatMap(({recipients}) => recipients)).toSorted();
const historyOf = async ({store}: HoldNode): Promise<string[]> =>
  (await store.events.find({}, {kind: 'all'}, {limit: 100}))
    .toReversed()
    .map(({event, recipients, recipients_left: left}) => `${event} ${recipients.join()} ${left}`);
const auditOf = async ({store}: HoldNode): Promise<string[]> =>
  (await store.audit.list({}, {limit: 100, offset: 0})).entries.toReversed().map(({action, detail}) => `${action} ${detail}`);

/** Between the look at the mail and the claim. */
const beforeClaim = (node: HoldNode, work: () => Promise<unknown>): void => {
  node.beforeWrite = async () => {
    node.beforeWrite = async () => {};
    await work();
  };
};

for (const [first, second, recipients, told, delivered] of [
  ['release', 'release', [ann], 'released before', [ann]],
  ['release', 'release', [ann, ben], 'released', [ann, ben]],
  ['release', 'release', undefined, 'released', [ann, ben, cat]],
  ['discard', 'release', [ann], 'conflict', []],
  ['discard', 'release', [ann, ben], 'conflict', []],
  ['discard', 'release', undefined, 'released', [ben, cat]],
  ['release', 'discard', [ann], 'conflict', [ann]],
  ['release', 'discard', undefined, 'discarded', [ann]],
] as const)
  testWithPostgres(
    `a ${second} for ${recipients?.join(' and ') ?? 'all'} leaves what another node does just before it for ${ann}: ${first}`,
    async t => {
      const {alpha, beta} = await startTwo(t);
      beforeClaim(beta, async () => actOn(alpha, first, [ann]));

      t.is(await tell(actOn(beta, second, recipients && [...recipients])), told);

      t.deepEqual(deliveredBy(alpha, beta), [...delivered]);
      const acts = (await alpha.store.hold.recipientActs([id])).get(id) ?? [];
      t.is(acts.find(({address}) => address === ann)?.state, first === 'release' ? 'released' : 'discarded');
      t.is((await historyOf(alpha)).filter(line => line.includes(`ed ${ann} `)).length, 1);
    },
  );

testWithPostgres('a discard whose claim another node has taken over is no discard', async t => {
  const {alpha, beta, endLease} = await startTwo(t);
  let writes = 0;
  alpha.beforeWrite = async () => {
    writes += 1;
    if (writes !== 2) return;
    await endLease();
    await actOn(beta, 'release', [ann]);
  };

  t.is(await tell(actOn(alpha, 'discard', [ann])), 'conflict');

  t.deepEqual(deliveredBy(alpha, beta), [ann]);
  t.deepEqual(await historyOf(alpha), [`held ${ann},${ben},${cat} null`, `released ${ann} 2`]);
  t.deepEqual(await auditOf(alpha), [`quarantine.release for ${ann}`]);
  t.like(await alpha.store.hold.find(id), {state: 'held', recipients: [ben, cat]});
});

testWithPostgres('a discard that could not be recorded is not done, and the mail can be acted on', async t => {
  const {alpha, beta} = await startTwo(t);
  let writes = 0;
  alpha.beforeWrite = async () => {
    writes += 1;
    if (writes === 2) throw new Fault('unavailable', 'the store cannot be reached');
  };

  t.is(await tell(actOn(alpha, 'discard', [ann])), 'unavailable');
  await alpha.queues.catchUp();

  t.is(await tell(actOn(beta, 'release', [ann])), 'released');
  t.deepEqual(deliveredBy(alpha, beta), [ann]);
});

testWithPostgres('a release whose record had no answer is recorded once', async t => {
  const {alpha} = await startTwo(t);
  const {queue} = await alpha.queues.find({node_id: 'alpha', queue_id: id});
  let writes = 0;
  alpha.afterWrite = async () => {
    writes += 1;
    if (writes === 2) throw new Fault('outcome_unknown', 'nobody says whether this was stored');
  };

  t.is(await tell(queue.act('release', id, operator, [ann])), 'outcome_unknown');
  await alpha.queues.catchUp();

  t.is(await tell(actOn(alpha, 'release', [ann])), 'released before');
  t.deepEqual(await historyOf(alpha), [`held ${ann},${ben},${cat} null`, `released ${ann} 2`]);
  t.deepEqual(await auditOf(alpha), [`quarantine.release for ${ann}`]);
  t.like(await alpha.store.hold.find(id), {state: 'held', recipients: [ben, cat]});
});

testWithPostgres('who got a mail that another node has ended since is recorded all the same', async t => {
  const {alpha, beta, endLease} = await startTwo(t);
  alpha.answer = async () => {
    alpha.beforeWrite = async () => {
      throw new Fault('unavailable', 'the store cannot be reached');
    };
    return 'delivered';
  };

  t.is(await tell(actOn(alpha, 'release', [ann])), 'outcome_unknown');
  await endLease();
  await actOn(beta, 'discard', [ben, cat]);
  await beta.queues.of('alpha').expire(id);
  alpha.beforeWrite = async () => {};
  await alpha.queues.catchUp();

  t.deepEqual((await historyOf(alpha)).at(-1), `released ${ann} 0`);
  t.is(await tell(actOn(beta, 'release', [ann])), 'released before');
});
