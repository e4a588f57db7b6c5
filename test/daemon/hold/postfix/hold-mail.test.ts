import test from 'ava';
import {createPostfixHolder} from '../../../../daemon/hold/postfix/hold-mail.ts';
import type {Judgement, Ownership} from '../../../../daemon/services/intake/mail.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {testQueue} from '../../../helpers/hold-queue.ts';
import {receivedMail} from '../../../helpers/received-mail.ts';

const ownership: Ownership = {direction: 'inbound', domain: {id: 2, name: 'other.test'} as Domain};
const judgement: Judgement = {action: 'hold', score: 9, reason: 'rbl', symbols: [{name: 'OTHER', score: 9}]};

test('a mail takes over the queue id of one that is gone, and of none that is held', async t => {
  const mails = await testQueue(t);
  const {transaction, write} = mails.store;
  const keep = createPostfixHolder({nodeId: 'alpha', store: mails.store, onHeld: () => {}, now: () => mails.now});
  for (const id of ['SPOOLED', 'INPOSTFIX', 'GONEONE']) await mails.hold(id);
  await write('held_mail').whereNot({queue_id: 'SPOOLED'}).update({keeper: 'postfix', queued_at: 1});
  await transaction(async tx => tx.hold.end(['GONEONE'], 'held', {state: 'gone', at: '2026-03-02T00:00:00.000Z', keyId: null}));
  const hold = async (queueId: string) => keep.hold({...receivedMail(), queueId}, ownership, judgement);

  const results = await Promise.allSettled(['SPOOLED', 'INPOSTFIX', 'GONEONE', 'FRESHONE'].map(hold));

  t.deepEqual(
    results.map(({status}) => status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  const found = await Promise.all(['SPOOLED', 'INPOSTFIX', 'GONEONE', 'FRESHONE'].map(async id => mails.store.hold.find(id)));
  t.deepEqual(
    found.map(mail => `${mail?.state} ${mail?.domain}`),
    ['held example.com', 'held example.com', 'held other.test', 'held other.test'],
  );
});
