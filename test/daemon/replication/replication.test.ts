import test from 'ava';
import {createReplication} from '../../../daemon/replication/replication.ts';
import type {ConfigTransaction} from '../../../daemon/services/ports.ts';
import {digestDefaults} from '../../../shared/digest-rules.ts';
import {newFields} from '../../helpers/config-history.ts';
import {addDomain, catchUp, createReplica, everything, hashOf, type Replica, send, sender} from '../../helpers/replica.ts';

const namesAt = async ({store}: Replica) => (await store.config.listDomains()).map(({name}) => name);

test('events are applied once, in order, and acknowledged again when they come again', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addDomain(alpha, 'one.test');
  await addDomain(alpha, 'two.test');

  const first = await send(alpha, beta, 0);
  const again = await send(alpha, beta, 0);

  t.deepEqual(first, {applied: 2, hasGap: false, leftOut: ''});
  t.deepEqual(again, {applied: 2, hasGap: false, leftOut: ''});
  t.deepEqual(await namesAt(beta), ['one.test', 'two.test']);
  t.is(await hashOf(beta), await hashOf(alpha));
  t.is((await beta.store.read('outbox')).length, 0, 'what came from elsewhere is not told on');
});

test('an event that overtakes another waits until it is its turn', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  for (const name of ['one.test', 'two.test', 'three.test']) await addDomain(alpha, name);

  const tooSoon = await send(alpha, beta, 2);

  t.deepEqual(tooSoon, {applied: 0, hasGap: false, leftOut: ''});
  t.deepEqual(await namesAt(beta), []);
  t.is((await send(alpha, beta)).applied, 3);
});

test('of a batch that cannot be applied nothing is, and the next attempt finds it whole', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addDomain(alpha, 'one.test');
  const {events, floor} = await alpha.replication.batchAfter(0, everything);
  const [event] = events;
  if (!event) throw new Error('no event');
  const broken = {...event, seq: 2, event: {...event.event, changes: [{kind: 'nonsense'}]}} as never;

  await t.throwsAsync(beta.replication.receive(sender(1), {floor, events: [event, broken]}));

  t.deepEqual(await namesAt(beta), []);
  t.is((await send(alpha, beta)).applied, 1);
});

test('a node tells of its own changes only', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addDomain(alpha, 'one.test');
  const request = await alpha.replication.batchAfter(0, everything);

  await t.throwsAsync(beta.replication.receive(sender(3), request), {message: /stamps of another node/});

  t.deepEqual(await namesAt(beta), []);
});

test('any node may switch on the digests of a domain', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  const id = await addDomain(alpha, 'one.test');
  await send(alpha, beta);
  const {enabled: _, ...defaults} = digestDefaults;
  await beta.configuration.change(async tx =>
    tx.create('digest', id, {...defaults, except: [], domain_id: id, enabled_at: tx.at, created_at: tx.at}),
  );

  t.is((await send(beta, alpha)).applied, 1);

  t.like(await alpha.store.config.listDigests(), [{domain_id: id}]);
});

test('what is written after something was heard is later than that, however slow the clock', async t => {
  const [fast, slow] = [
    await createReplica(t, 1, () => 2_000_000_000_000),
    await createReplica(t, 2, () => 2_000_000_000_000 - 23 * 3_600_000),
  ];
  const id = await addDomain(fast, 'one.test');
  await fast.configuration.change(async tx => tx.update('domain', id, {quarantine_threshold: 5}));
  await send(fast, slow);

  await slow.configuration.change(async tx => tx.update('domain', id, {quarantine_threshold: 7}));
  await send(slow, fast);

  for (const {store} of [fast, slow]) t.is((await store.config.listDomains())[0]?.quarantine_threshold, 7);
  t.is(await hashOf(fast), await hashOf(slow));
});

test('who is further behind than the outbox reaches is told so, and has everything after a snapshot', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  const gone = await addDomain(alpha, 'gone.test');
  for (const name of ['one.test', 'two.test']) await addDomain(alpha, name);
  await alpha.configuration.change(async tx => tx.remove('domain', gone));
  await alpha.replication.prune(0, 1);

  t.true((await send(alpha, beta, 3)).hasGap);
  await catchUp(alpha, beta);

  t.deepEqual(await namesAt(beta), ['one.test', 'two.test']);
  t.is(await hashOf(beta), await hashOf(alpha));
  await addDomain(alpha, 'three.test');
  t.deepEqual(await send(alpha, beta), {applied: 5, hasGap: false, leftOut: ''});
  t.is(await hashOf(beta), await hashOf(alpha));
});

test('what every peer has is forgotten, and numbers go on', async t => {
  const alpha = await createReplica(t, 1);
  for (const name of ['one.test', 'two.test', 'three.test']) await addDomain(alpha, name);

  t.is(await alpha.replication.prune(2, 1000), 2);
  t.is(await alpha.replication.prune(2, 1000), 0);
  await addDomain(alpha, 'four.test');

  const {floor, events} = await alpha.replication.batchAfter(0, everything);
  t.is(floor, 2);
  t.deepEqual(
    events.map(({seq}) => seq),
    [3, 4],
  );
});

test('a node whose database has gone back in time takes back what it had said, and nothing it says from then on is missed', async t => {
  const [alpha, beta, gamma] = [await createReplica(t, 1), await createReplica(t, 2), await createReplica(t, 3)];
  for (const name of ['one.test', 'two.test', 'three.test']) await addDomain(alpha, name);
  await send(alpha, beta);
  await send(alpha, gamma);
  const latest = await addDomain(alpha, 'late.test');
  await send(alpha, beta);
  // The same node, restored from a backup with only one domain.
  const restored = await createReplica(t, 1);
  await restored.replication.receive(sender(9), {floor: 0, events: []});
  await addDomain(restored, 'one-again.test');
  const made = await addDomain(restored, 'since.test');

  await catchUp(beta, restored);

  t.true((await namesAt(restored)).includes('late.test'));
  t.true((await addDomain(restored, 'new.test')) > latest, 'an id that was given is not given again');
  t.true(made <= latest);
  for (const peer of [beta, gamma]) if ((await send(restored, peer)).hasGap) await catchUp(restored, peer);
  t.true((await namesAt(beta)).includes('new.test'));
  t.true((await namesAt(gamma)).includes('new.test'));
  t.is(await hashOf(beta), await hashOf(restored));
  t.is(await hashOf(gamma), await hashOf(restored));
});

test('a node that went back in time and has made as much since as it lost learns of it from a peer’s first word', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  for (const name of ['one.test', 'two.test', 'three.test']) await addDomain(alpha, name);
  await send(alpha, beta);
  const empty = await createReplica(t, 1);
  // The same node, restored from an empty backup and started while no peer could be reached.
  const restored = {...empty, replication: createReplication({...empty, begunAt: 0})};
  await restored.replication.skipIds();
  for (const name of ['four.test', 'five.test', 'six.test']) await addDomain(restored, name);

  const hasGoneBack = await restored.replication.checkFirstAcknowledgement(3);
  await catchUp(beta, restored);
  await send(restored, beta);

  t.true(hasGoneBack);
  t.deepEqual(await namesAt(beta), ['five.test', 'four.test', 'one.test', 'six.test', 'three.test', 'two.test']);
  t.is(await hashOf(beta), await hashOf(restored));
  const whole = createReplication({...alpha, begunAt: 3});
  t.false(await whole.checkFirstAcknowledgement(3), 'a node that knows as much itself has not gone back');
});

test('a node that cannot ask whether its database has gone back in time gives ids that were never given', async t => {
  const alpha = await createReplica(t, 1);
  const first = await addDomain(alpha, 'one.test');

  await alpha.replication.skipIds();

  t.is(await addDomain(alpha, 'two.test'), first + 100_001);
});

test('a node creates records of its own, and describes no other node', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  const node = {node_id: 'gamma', fqdn: 'gamma.test', cluster_url: null, api_url: null, created_at: '2026-01-01T00:00:00.000Z'};
  const told = async (work: (tx: ConfigTransaction) => Promise<unknown>) => {
    await alpha.configuration.change(work);
    const {events} = await alpha.replication.batchAfter((await alpha.replication.lastSeq()) - 1, everything);
    const before = (await beta.replication.applied()).get(1) ?? 0;
    return beta.replication.receive(sender(1), {floor: 0, events: events.map(event => ({...event, seq: before + 1}))});
  };

  await t.throwsAsync(
    told(async tx =>
      tx.create('domain', 2_000_000_007, {...newFields.domain('one.test'), backend_servers: ['x:25'], created_at: tx.at}),
    ),
    {message: /speaks for another/},
  );
  await t.notThrowsAsync(
    told(async tx => tx.create('node', 3, node)),
    'letting a node in is everybody’s',
  );
  await t.throwsAsync(
    told(async tx => tx.update('node', 3, {api_url: 'https://evil.test'})),
    {message: /speaks for another/},
  );
  await t.notThrowsAsync(
    told(async tx => tx.remove('node', 3)),
    'and so is removing it',
  );
  t.deepEqual(await namesAt(beta), []);
});

test('numbers that no node can have come to are not believed', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addDomain(alpha, 'one.test');

  await t.throwsAsync(alpha.replication.recover(2 ** 47), {message: /claims to know/});
  await send(alpha, beta);

  t.is(await alpha.replication.lastSeq(), 1);
  t.deepEqual(await namesAt(beta), ['one.test']);
});

test('of two domains made with one name apart, the later is a tombstone everywhere, without its secrets, and its maker says so', async t => {
  let time = 1_800_000_000_000;
  const now = () => {
    time += 1;
    return time;
  };
  const [alpha, beta] = [await createReplica(t, 1, now), await createReplica(t, 2, now)];
  const earlier = await addDomain(alpha, 'one.test');
  const later = await addDomain(beta, 'one.test');
  await beta.configuration.change(async tx => {
    const id = await tx.nextId('dkim_key');
    await tx.create('dkim_key', id, {...newFields.dkimKey(later, 's1'), algorithm: 'ed25519', created_at: tx.at});
  });

  await send(alpha, beta);
  await send(beta, alpha);

  for (const replica of [alpha, beta]) {
    t.deepEqual(
      (await replica.store.config.listDomains()).map(({id}) => id),
      [earlier],
    );
    t.false(JSON.stringify(await replica.store.read('config_record')).includes('PRIVATE'));
  }
  t.is(await hashOf(alpha), await hashOf(beta));
  t.deepEqual(await beta.store.read('audit').pluck('action'), ['domain.conflict']);
  t.deepEqual(await alpha.store.read('audit').pluck('action'), []);
  t.deepEqual(await send(beta, alpha), {applied: 3, hasGap: false, leftOut: ''});
});

test('an event with wrong values and fields of a newer version neither fails nor keeps later events away', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  const wrong = await addDomain(alpha, 'wrong.test');
  await addDomain(alpha, 'newer.test');
  await addDomain(alpha, 'later.test');
  await alpha.configuration.change(async tx => tx.update('domain', wrong, {direction: null} as never));
  await alpha.configuration.change(async tx => tx.update('domain', wrong + 1, {added_later: true} as never));

  const told = await send(alpha, beta);

  t.deepEqual(told, {applied: 5, hasGap: false, leftOut: ''});
  for (const node of [alpha, beta]) t.deepEqual(await namesAt(node), ['later.test', 'newer.test']);
  t.is(await hashOf(alpha), await hashOf(beta));
});
