import {createHash} from 'node:crypto';
import {Readable} from 'node:stream';
import {buffer} from 'node:stream/consumers';
import {decide} from '../../../../daemon/mail/mail-decision.ts';
import type {Judgement, Ownership} from '../../../../daemon/services/intake/mail.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {Fault} from '../../../../shared/fault.ts';
import {startHoldNode} from '../../../helpers/common-hold.ts';
import {newCluster} from '../../../helpers/common-store.ts';
import {trace} from '../../../helpers/hold-queue.ts';
import {receivedMail, sample} from '../../../helpers/received-mail.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const id = 'Q1w2E3r4T5';
const ownership: Ownership = {direction: 'inbound', domain: {id: 1, name: 'example.com'} as Domain};
const judgement: Judgement = {action: 'hold', score: 8, reason: 'spam', symbols: []};

testWithPostgres('a held mail is its row and its bytes after the trace header, however large', async t => {
  const {hold, store, told} = await startHoldNode(t, await newCluster(postgres()));
  const mails = new Map([
    ['Mail000001', sample('plain.eml')],
    ['Mail000002', Buffer.concat([sample('plain.eml'), Buffer.alloc(1_000_000, 'a line of text\r\n')])],
  ]);

  for (const [queueId, bytes] of mails) await hold(queueId, {bytes});

  for (const [queueId, bytes] of mails) {
    const wanted = Buffer.concat([trace, bytes]);
    t.true((await buffer(store.bodies.open(queueId))).equals(wanted));
    t.like(await store.hold.find(queueId), {
      state: 'held',
      keeper: 'spool',
      size_bytes: wanted.length,
      sha256: createHash('sha256').update(wanted).digest('hex'),
    });
  }
  t.deepEqual(told, [...mails.keys()]);
});

testWithPostgres('mails that arrive together share a transaction, and none is told to be held before its commit', async t => {
  const node = await startHoldNode(t, await newCluster(postgres()));
  const ids = Array.from({length: 20}, (_, n) => `Mail0000${10 + n}`);
  let toldBefore = 0;
  node.beforeWrite = async () => {
    toldBefore += node.told.length;
  };

  await Promise.all(ids.map(async queueId => node.hold(queueId)));

  t.is(node.writes, 1);
  t.is(toldBefore, 0);
  t.is((await node.store.hold.findAll(ids)).length, 20);
});

testWithPostgres('a mail whose bytes cannot be read is not there, and does not harm those that arrive with it', async t => {
  const node = await startHoldNode(t, await newCluster(postgres()));
  const bytes = Buffer.alloc(400_000, 'a line of text\r\n');
  let openings = 0;
  const content = {
    sizeBytes: bytes.length,
    discard: async () => {},
    open() {
      openings += 1;
      return openings === 1
        ? Readable.from([bytes])
        : Readable.from(
            (async function* () {
              yield bytes.subarray(0, 300_000);
              throw new Error('EIO');
            })(),
          );
    },
  };

  const [broken] = await Promise.allSettled([
    node.holder.hold({...receivedMail(), queueId: id, content}, ownership, judgement),
    node.hold('Mail000001'),
  ]);

  t.is(broken.status, 'rejected');
  t.is(await node.store.hold.find(id), undefined);
  t.is((await buffer(node.store.bodies.open(id))).length, 0);
  t.deepEqual(node.told, ['Mail000001']);
});

testWithPostgres('while the store cannot be reached a mail gets 451 4.3.0, and is held when it is sent again', async t => {
  const node = await startHoldNode(t, await newCluster(postgres()));
  node.beforeWrite = async () => {
    throw new Fault('unavailable', 'the store cannot be reached');
  };
  const mail = {...receivedMail(), queueId: id};
  const intake = {
    judge: async () => judgement,
    hold: node.holder.hold,
    count: () => {},
    takeReport: async () => t.fail() as never,
  };
  const context = {ownership, isAbandoned: () => false, relay: async () => t.fail()};

  const away = await decide(intake, mail, context as never);
  node.beforeWrite = async () => {};
  const back = await decide(intake, mail, context as never);

  t.is(away.verdict, 'deferred');
  t.regex(`${away.reply.code} ${away.reply.text}`, /^451 4\.3\.0 /);
  t.is(back.reply.code, 250);
  t.deepEqual(node.told, [id]);
});
