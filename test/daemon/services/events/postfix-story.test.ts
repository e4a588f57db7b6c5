import type {CommonStore} from '../../../../daemon/services/common-store.ts';
import {unknownMail} from '../../../../daemon/services/events/held-event.ts';
import type {NewMailEvent, StoredMailEvent} from '../../../../daemon/services/events/mail-event.ts';
import type {DeliveryLine, PostfixLine} from '../../../../daemon/services/events/postfix-line.ts';
import {createPostfixStory} from '../../../../daemon/services/events/postfix-story.ts';
import type {Store} from '../../../../daemon/services/ports.ts';
import {nodeId, testStores} from '../../../helpers/store-makes.ts';

const start = Date.UTC(2026, 2, 1);
const dayMs = 86_400_000;

const mail = (queueId: string, fields: Partial<NewMailEvent> = {}): NewMailEvent => ({
  ...unknownMail,
  event: 'relayed',
  at: new Date(start).toISOString(),
  queue_id: queueId,
  direction: 'inbound',
  domain: 'one.test',
  domain_id: 1,
  sender: 'ada@two.test',
  recipients: ['ben@one.test'],
  subject: 'hello',
  message_id: '1@two.test',
  reply: `250 2.0.0 Ok: queued as ${queueId}`,
  ...fields,
});

const line = (queueId: string, fields: Partial<DeliveryLine> = {}): DeliveryLine => ({
  kind: 'delivery',
  queueId,
  at: start + 5000,
  event: 'sent',
  to: 'ben@one.test',
  originalTo: undefined,
  server: 'mx[192.0.2.5]:25',
  reply: '250 ok',
  detail: '',
  tookMs: 130,
  isAmbiguous: false,
  ...fields,
});

/** The story of this node, and what it wrote of Postfix, oldest first. */
const storyOf = (store: Store, now = start + 60_000) => {
  const story = createPostfixStory({store, nodeId, flush: async () => {}, now: () => now});
  return {
    ...story,
    tell: async (...lines: PostfixLine[]) => story.add(lines, 'place'),
    written: async (): Promise<StoredMailEvent[]> =>
      (await store.events.find({event: ['sent', 'bounced', 'postponed']}, {kind: 'all'}, {limit: 100})).toReversed(),
  };
};
const append = async (store: Store, ...events: NewMailEvent[]) => store.transaction(async tx => tx.events.append(events));
const brief = (entries: readonly StoredMailEvent[]) =>
  entries.map(({event, queue_id, recipients}) => `${event} ${queue_id} ${recipients.join(' ')}`);

/** Short ids are hexadecimal; long ones have a z. */
const [longId, otherId] = ['4jbbdM1j3hz1CjbZ', '4jbbdM1nNdz1Cjbb'];

testStores(
  'a line about known mail is an entry with what is known of the mail, and one about other mail is none',
  async (t, {store}) => {
    await append(store, mail(longId));
    const {tell, written, place} = storyOf(store);

    t.is(await tell(line(longId), line(otherId)), 1);

    const [entry] = await written();
    t.like(entry, {
      event: 'sent',
      at: new Date(start + 5000).toISOString(),
      queue_id: longId,
      domain: 'one.test',
      domain_id: 1,
      sender: 'ada@two.test',
      recipients: ['ben@one.test'],
      subject: 'hello',
      message_id: '1@two.test',
      server: 'mx[192.0.2.5]:25',
      reply: '250 ok',
      took_ms: 130,
      detail: '',
    });
    t.is(await place(), 'place');
  },
);

testStores('what waits to be written is known, and a time that is ahead is not believed', async (t, {store}) => {
  const story = createPostfixStory({
    store,
    nodeId: 'mx1',
    flush: async () => append(store, mail(longId)),
    now: () => start + 1000,
  });

  t.is(await story.add([line(longId, {at: start + dayMs})], 'place'), 1);
  const [entry] = await store.events.find({event: ['sent']}, {kind: 'all'}, {limit: 1});
  t.is(entry?.at, new Date(start + 1000).toISOString());
});

testStores('the lines and the place after them are written together, or neither is', async (t, {store}) => {
  await append(store, mail(longId));
  const broken: Pick<Store, 'transaction' | 'events' | 'state'> = {
    ...store,
    transaction: async work =>
      store.transaction(async tx => {
        await work(tx);
        throw new Error('the disk is full');
      }),
  };
  const story = createPostfixStory({store: broken, nodeId: 'mx1', flush: async () => {}, now: () => start + 60_000});

  await t.throwsAsync(story.add([line(longId)], 'place'));

  t.is(await story.place(), undefined);
  t.deepEqual(await storyOf(store).written(), []);
});

testStores('mail is known by the id that its server gave, and by the recipients of the mail alone', async (t, {store}) => {
  await append(store, mail('Gateway0001', {reply: `250 2.0.0 Ok: queued as ${longId}`, server: 'localhost:10025'}));
  const {tell, written} = storyOf(store);

  await tell(line(longId), line(longId, {to: 'victim@three.test'}), line('Gateway0001'));

  t.deepEqual(brief(await written()), ['sent Gateway0001 ben@one.test']);
});

testStores('a server that claims the id of other mail neither learns of that one nor hides it', async (t, {store}) => {
  await append(store, mail(longId));
  const claims = Array.from({length: 150}, (_, n) =>
    mail(`Evil${1000 + n}`, {
      recipients: ['eve@evil.test'],
      domain: 'evil.test',
      domain_id: 2,
      reply: `250 ok: queued as ${longId}`,
    }),
  );
  const sameRecipient = mail('Evil2000', {domain: 'evil.test', domain_id: 2, reply: `250 ok: queued as ${longId}`});
  await append(store, ...claims, sameRecipient);
  const {tell, written} = storyOf(store);

  await tell(line(longId), {kind: 'expired', queueId: longId, at: start});

  t.deepEqual(brief(await written()), [`sent ${longId} ben@one.test`]);
});

testStores('an alias leads to the recipient that mfd knows, and the entry says where the mail went', async (t, {store}) => {
  await append(store, mail(longId));
  const {tell, written} = storyOf(store);

  await tell(
    line(longId, {to: 'carl@else.test', originalTo: 'BEN@one.test', detail: 'in reply to end of DATA command'}),
    line(longId, {to: 'archive@else.test'}),
  );

  t.like(await written(), {
    length: 1,
    0: {recipients: ['ben@one.test'], detail: 'in reply to end of DATA command; for carl@else.test'},
  });
});

testStores('a content filter and postsuper give mail another id, and it stays the same mail', async (t, {store}) => {
  const [filtered, again, queuedAnew] = ['4jbbdM1w4sz1Cjbd', '4jbbdM2fvDz1Cjbh', '4jbbdW6FTZz1ClMK'];
  await append(store, mail(longId));
  const {tell, written} = storyOf(store);
  const reply = (id: string) => `250 2.0.0 from MTA(smtp:[127.0.0.1]:10025): 250 2.0.0 Ok: queued as ${id}`;

  // The line of the filter comes after the one about what it handed back.
  await tell(line(filtered, {reply: reply(again)}), line(longId, {reply: reply(filtered)}));
  await tell({kind: 'requeued', queueId: queuedAnew, formerId: longId, at: start});
  await tell({kind: 'requeued', queueId: 'ABCDEF0', formerId: otherId, at: start});
  await tell(line(again, {event: 'postponed'}));
  // After a restart.
  await storyOf(store).tell(line(queuedAnew, {event: 'bounced'}), line('ABCDEF0'));

  t.deepEqual(brief(await written()), [
    `sent ${longId} ben@one.test`,
    `sent ${longId} ben@one.test`,
    `postponed ${longId} ben@one.test`,
    `bounced ${longId} ben@one.test`,
  ]);
});

testStores('of mail with the same short id the newest counts, and none that is a week old', async (t, {store}) => {
  const short = '3F2A41B09';
  await append(store, mail(short, {domain: 'old.test'}), mail(short, {at: new Date(start + dayMs).toISOString()}));
  await append(store, mail(longId));
  const {tell, written} = storyOf(store, start + 30 * dayMs);

  await tell(line(short, {at: start + 2 * dayMs}), line(short, {at: start + 9 * dayMs}), line(longId, {at: start + 20 * dayMs}));

  t.deepEqual(
    (await written()).map(({queue_id, domain}) => [queue_id, domain]),
    [
      [short, 'one.test'],
      [longId, 'one.test'],
    ],
  );
});

testStores('when Postfix gives up, those bounce to whom it has not delivered', async (t, {store}) => {
  await append(store, mail(longId, {recipients: ['ben@one.test', 'carl@one.test', 'dora@one.test']}));
  const {tell, written} = storyOf(store);

  await tell(
    line(longId, {event: 'postponed'}),
    line(longId, {event: 'postponed', to: 'carl@one.test'}),
    line(longId, {to: 'dora@one.test'}),
  );
  await tell(line(longId, {to: 'carl@one.test'}), {kind: 'expired', queueId: longId, at: start + 9000});

  t.like((await written()).at(-1), {event: 'bounced', recipients: ['ben@one.test'], reply: null, server: null});
});

testStores('what another node has tried with mail of the same queue id does not bounce here', async (t, {store}) => {
  const shortId = '1A2B3C4D5E';
  const others = 'of' in store ? (store as CommonStore).of('beta') : undefined;
  await append(store, mail(shortId));
  await others?.transaction(async tx =>
    tx.events.append([mail(shortId, {event: 'postponed', domain: 'two.test', domain_id: 2, recipients: ['eve@two.test']})]),
  );
  const {tell, written} = storyOf(store);

  await tell({kind: 'expired', queueId: shortId, at: start + 9000});

  t.deepEqual(
    (await written()).filter(({event}) => event === 'bounced'),
    [],
  );
});

testStores('a short id in a line from long before the mail is that of other mail', async (t, {store}) => {
  const shortId = '1A2B3C4D5E';
  await append(store, mail(shortId));
  const {tell} = storyOf(store);

  t.is(await tell(line(shortId, {at: start - 8 * dayMs})), 0);
  // A clock that was set back.
  t.is(await tell(line(shortId, {at: start - 3_600_000})), 1);
});

testStores(
  'released mail has its Message-ID in what follows, and mail of which not all recipients are stored is told too',
  async (t, {store}) => {
    const many = Array.from({length: 150}, (_, n) => `user${n}@one.test`);
    await append(store, mail(longId, {event: 'held'}), mail(longId, {event: 'released', reply: null, message_id: null}));
    await append(store, mail(otherId, {recipients: many}));
    const {tell, written} = storyOf(store);

    await tell(line(longId), line(otherId, {to: 'user149@one.test'}), line(otherId, {to: 'user149@one.test', isAmbiguous: true}));

    t.like(await written(), {
      length: 2,
      0: {message_id: '1@two.test'},
      1: {recipients: ['user149@one.test'], recipient_count: 1},
    });
  },
);

testStores('a line that may say something else is not believed of mail with an odd recipient', async (t, {store}) => {
  await append(store, mail(longId), mail(otherId, {recipients: ['ben@one.test', '"x>, relay=y"@one.test']}));
  const {tell, written} = storyOf(store);

  await tell(line(longId, {isAmbiguous: true}), line(otherId, {isAmbiguous: true}), line(otherId));

  t.deepEqual(brief(await written()), [`sent ${longId} ben@one.test`, `sent ${otherId} ben@one.test`]);
});
