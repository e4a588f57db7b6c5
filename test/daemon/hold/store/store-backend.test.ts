import {buffer} from 'node:stream/consumers';
import {createStoreBackend} from '../../../../daemon/hold/store/store-backend.ts';
import {createBackendPool} from '../../../../daemon/mail/backend/backend-pool.ts';
import {createDeliver} from '../../../../daemon/mail/backend/deliver.ts';
import type {Deliver} from '../../../../daemon/services/intake/mail.ts';
import type {StoredHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {Fault} from '../../../../shared/fault.ts';
import {startHoldNode} from '../../../helpers/common-hold.ts';
import {newCluster} from '../../../helpers/common-store.ts';
import {operator, trace} from '../../../helpers/hold-queue.ts';
import {sample} from '../../../helpers/received-mail.ts';
import {startSmtpSink} from '../../../helpers/smtp-sink.ts';
import type {Teardown} from '../../../helpers/store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const id = 'Q1w2E3r4T5';
const large = Buffer.concat([sample('plain.eml'), Buffer.from('a line of some text\r\n'.repeat(75_000))]);

const faultOf = async (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => {
      throw new Error('no fault');
    },
    error => {
      if (error instanceof Fault) return error;
      throw error;
    },
  );

/** Real SMTP to a real server. `before` is called after the server has answered the recipients, and before the bytes are read. */
const startSmtpNode = async (t: Teardown, before: (database: string) => Promise<unknown>) => {
  const settings = await newCluster(postgres());
  const sink = await startSmtpSink(t);
  const pool = createBackendPool({hostname: 'gate.test'});
  t.teardown(async () => pool.close());
  const smtp = createDeliver({pool});
  const deliver: Deliver = {
    async deliver(_route, envelope, content) {
      await before(settings.database);
      return smtp.deliver({servers: [sink.server]}, envelope, content);
    },
  };
  return {sink, settings, node: await startHoldNode(t, settings, {deliver})};
};

for (const [kind, bytes] of [
  ['small', sample('plain.eml')],
  ['large', large],
] as const) {
  testWithPostgres(`a ${kind} mail is released byte for byte, trained before, and its bytes are gone afterwards`, async t => {
    const {sink, node} = await startSmtpNode(t, async () => {});
    await node.hold(id, {bytes});

    const outcome = await node.queues.own.act('release', id, operator);

    t.like(outcome, {state: 'released', already: false});
    t.true(sink.mails[0]?.content.equals(Buffer.concat([trace, bytes])));
    t.deepEqual(node.trained, [`ham ${trace.length + bytes.length}`]);
    t.is((await buffer(node.store.bodies.open(id))).length, 0);
  });

  testWithPostgres(`of a ${kind} mail whose claim ended during its release no server gets the end`, async t => {
    const {sink, node} = await startSmtpNode(t, async database =>
      postgres().query("UPDATE held_mail SET lease_until = now() - interval '1 s'", {database}),
    );
    await node.hold(id, {bytes});

    const fault = await faultOf(node.queues.own.act('release', id, operator));

    t.is(fault.code, 'unavailable');
    t.regex(fault.detail, /did not deliver/);
    t.deepEqual(sink.mails, []);
    t.like(await node.store.hold.find(id), {state: 'held'});
  });
}

testWithPostgres('a mail whose bytes change while they are sent is not ended, and stays held', async t => {
  const {sink, node} = await startSmtpNode(t, async database =>
    postgres().query('UPDATE held_body SET bytes = set_byte(bytes, 9, 65) WHERE part = 2', {database}),
  );
  await node.hold(id, {bytes: large});

  const fault = await faultOf(node.queues.own.act('release', id, operator));

  t.is(fault.code, 'delivery_failed');
  t.true(sink.steps.includes('DATA'));
  t.deepEqual(sink.mails, []);
  t.like(await node.store.hold.find(id), {state: 'held'});
});

testWithPostgres('bytes that have changed in the store are neither shown nor delivered', async t => {
  const settings = await newCluster(postgres());
  const node = await startHoldNode(t, settings);
  await node.hold(id);
  await postgres().query('UPDATE held_body SET bytes = set_byte(bytes, 0, 65)', settings);

  const body = await faultOf(node.queues.own.body(id, operator));
  const release = await faultOf(node.queues.own.act('release', id, operator));

  t.is(body.code, 'internal');
  t.is(release.code, 'delivery_failed');
  for (const {detail} of [body, release]) t.regex(detail, /changed in the store.*still held/);
  t.deepEqual(node.deliveries, []);
  t.like(await node.store.hold.find(id), {state: 'held'});
});

testWithPostgres('a mail without bytes is lost: it is neither shown nor delivered empty', async t => {
  const settings = await newCluster(postgres());
  const node = await startHoldNode(t, settings);
  await node.hold(id);
  await postgres().query('DELETE FROM held_body', settings);

  const codes = [
    (await faultOf(node.queues.own.body(id, operator))).code,
    (await faultOf(node.queues.own.act('release', id, operator))).code,
  ];

  t.deepEqual(codes, ['not_found', 'not_found']);
  t.deepEqual(node.deliveries, []);
});

testWithPostgres('a mail that another node has ended meanwhile is not called lost', async t => {
  const settings = await newCluster(postgres());
  const node = await startHoldNode(t, settings);
  await node.hold(id);
  const mail = await node.store.hold.find(id);
  await postgres().query('DELETE FROM held_body', settings);
  const backend = createStoreBackend({
    store: node.store,
    deliver: async (_mail, open) => open().then(() => ({reply: null, server: null})),
  });

  const fault = await faultOf(backend.release(mail as StoredHeldMail, () => {}));

  t.is(fault.code, 'unavailable');
  t.regex(fault.detail, /lost its claim .* try again to learn its state/);
});

testWithPostgres('the mail of a node that is gone is learned by the node that is asked', async t => {
  const settings = await newCluster(postgres());
  await (await startHoldNode(t, settings)).hold(id);
  const node = await startHoldNode(t, settings, {nodeId: 'beta', nodeNo: 2});

  const {queue} = await node.queues.find({node_id: 'alpha', queue_id: id});
  const outcome = await queue.train('ham', id, operator);

  t.deepEqual(outcome, {node_id: 'alpha', queue_id: id, as: 'ham', outcome: 'learned'});
  t.deepEqual(node.trained, [`ham ${trace.length + sample('plain.eml').length} as asked`]);
  t.is((await queue.get(id, operator)).queue_id, id);
});

testWithPostgres('a discarded mail is trained as spam while its bytes are there, and then they are gone', async t => {
  const node = await startHoldNode(t, await newCluster(postgres()));
  await node.hold(id);

  await node.queues.own.act('discard', id, operator);

  t.deepEqual(node.trained, [`spam ${trace.length + sample('plain.eml').length}`]);
  t.is((await buffer(node.store.bodies.open(id))).length, 0);
});
