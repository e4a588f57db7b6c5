// Delivery of events to watchers by scope, on a real configuration; the watchers are lists.

import test, {type ExecutionContext} from 'ava';
import type {Actor} from '../../../../daemon/services/actor.ts';
import {type BusEvent, createEventBus, publishConfigEvents} from '../../../../daemon/services/events/event-bus.ts';
import {createEvents} from '../../../../daemon/services/events/events.ts';
import type {MailSource} from '../../../../daemon/services/events/mail-source.ts';
import {type EventType, eventTypes} from '../../../../shared/event-type.ts';
import {Fault} from '../../../../shared/fault.ts';
import type {Scope} from '../../../../shared/scopes.ts';
import {testDirectories} from '../../../helpers/directories.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {operator} from '../../../helpers/hold-queue.ts';

const arrange = async (t: ExecutionContext, sources: MailSource[] = []) => {
  const {configuration, keyDirectory, domainDirectory, domains, keys} = await testDirectories(t);
  const bus = createEventBus({nodeId: 'alpha', now: Date.now, onFailure: error => t.fail(String(error))});
  const listening = {count: 0, starts: 0};
  const clock = {offsetMs: 0};
  const failures: string[] = [];
  const events = createEvents({
    nodeId: 'alpha',
    sources: () => sources,
    onFailure: (name, error) => failures.push(`${name} ${error instanceof Error ? error.message : error}`),
    keys: keyDirectory,
    domains: domainDirectory,
    configuration,
    now: () => Date.now() + clock.offsetMs,
    limits: {perKey: 2, perNode: 3},
    subscribeToPeers() {
      listening.count += 1;
      listening.starts += 1;
      return {
        silent: Promise.resolve([]),
        stop() {
          listening.count -= 1;
        },
      };
    },
  });
  t.teardown(async () => events.close());
  // As from a node of 0.8, which has no log that could be read.
  bus.subscribe(event => events.receive({...event, isLogged: false}));
  publishConfigEvents({configuration, domains: domainDirectory, keys: keyDirectory, bus});

  /** A key that was used once by a request, and the actor that it stands for. */
  const actor = async (scope: Scope, fields: object = {}): Promise<Actor & {keyId: number}> => {
    const {key} = await keys.create(operator, {name: 'watcher', scope, ...fields});
    const stored = await keys.identify(key);
    return {keyId: stored.id, scope, reach: keys.admit(stored), remoteAddress: null};
  };
  const watch = (who: Actor & {keyId: number}, types?: EventType[]) => {
    const told: string[] = [];
    const state = {told, isEnded: false, close: () => {}};
    const {close} = events.watch(
      who,
      {types},
      {
        position: () => {},
        ready: async () => {},
        event: event => told.push(`${event.type} ${'change' in event ? `${event.name} ${event.change}` : event.node_id}`),
        ping: () => told.push('ping'),
        end() {
          state.isEnded = true;
        },
      },
    );
    state.close = close;
    return state;
  };
  const createDomain = async (name: string) => domains.create(operator, {name, backend_servers: ['127.0.0.1:25']});
  const happenAll = (domainId: number) => {
    const mail = {node_id: 'alpha', queue_id: 'Q1w2E3r4T5'};
    const acted = {...mail, acted_at: '2026-03-01T12:00:00.000Z', acted_by_key_id: 7, already: false};
    const held = {...mail, sender: '', from: [], recipients: [], subject: '', score: 8, symbols: [], reason: 'spam' as const};
    bus.publish({type: 'held', ...held, size_bytes: 1, arrived_at: acted.acted_at, release_requested: false}, domainId);
    bus.publish({type: 'released', state: 'released', ...acted}, domainId);
    bus.publish({type: 'discarded', state: 'discarded', ...acted}, domainId);
    bus.publish({type: 'domain', node_id: 'alpha', id: domainId, name: 'd.test', change: 'updated'}, domainId);
    bus.publish({type: 'key', node_id: 'alpha', id: 1, name: 'k', change: 'updated'});
    bus.publish({type: 'health', node_id: 'beta', from: 'online', to: 'stale'});
  };
  return {keys, domains, events, actor, watch, createDomain, happenAll, listening, clock, sources, failures};
};

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'done';
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
};

test('each key is told what its scope may see, and a domain-admin of its own domain only', async t => {
  const {actor, watch, createDomain, happenAll} = await arrange(t);
  const [own, other] = [await createDomain('own.test'), await createDomain('other.test')];
  const visible: [Scope, object, EventType[], EventType[]][] = [
    ['full-admin', {}, [...eventTypes], [...eventTypes]],
    ['read-only', {}, [...eventTypes], [...eventTypes]],
    ['quarantine-only', {}, ['held', 'released', 'discarded'], ['held', 'released', 'discarded']],
    ['domain-admin', {domain: 'own.test'}, ['held', 'released', 'discarded', 'domain'], []],
  ];

  for (const [scope, fields, ofOwn, ofOther] of visible) {
    const {told, close} = watch(await actor(scope, fields));
    happenAll(own.id);
    t.deepEqual(
      told.splice(0).map(text => text.split(' ')[0]),
      ofOwn,
      scope,
    );
    happenAll(other.id);
    t.deepEqual(
      told.splice(0).map(text => text.split(' ')[0]),
      ofOther,
      scope,
    );
    close();
  }
});

test('a log that streams cannot read is told once an hour, however many wait for it', async t => {
  const {actor, watch, clock, sources, failures} = await arrange(t);
  let asked = 0;
  const after = async () => {
    asked += 1;
    throw new Error('no such column');
  };
  sources.push({name: 'alpha', after});
  const who = await actor('read-only');

  watch(who);
  watch(who);
  await eventually(() => failures.length > 0);
  const before = asked;
  await eventually(() => asked >= before + 2);
  t.deepEqual(failures, ['alpha no such column']);

  clock.offsetMs += 3_600_001;
  await eventually(() => failures.length > 1);
  t.deepEqual(failures, ['alpha no such column', 'alpha no such column']);
});

test('a key for several domains is told of the deletion of each that it was made for, of no other, and of nothing after it', async t => {
  const {domains, actor, watch, createDomain, happenAll} = await arrange(t);
  const [first, second, other] = [
    await createDomain('first.test'),
    await createDomain('second.test'),
    await createDomain('other.test'),
  ];
  const {told} = watch(await actor('domain-admin', {domains: [first.name, second.name]}));

  for (const {id} of [other, first]) await domains.remove(operator, id, undefined);
  const again = await createDomain(first.name);
  await domains.remove(operator, again.id, undefined);
  happenAll(first.id);
  happenAll(second.id);

  t.deepEqual(told, ['domain first.test deleted', 'held alpha', 'released alpha', 'discarded alpha', 'domain d.test updated']);
});

test('with types only these come, and a type that the scope can never see is refused', async t => {
  const {actor, watch, happenAll} = await arrange(t);
  const quarantineOnly = await actor('quarantine-only');
  const {told} = watch(quarantineOnly, ['released', 'discarded']);

  happenAll(1);

  t.deepEqual(told, ['released alpha', 'discarded alpha']);
  t.is(
    codeOf(() => watch(quarantineOnly, ['held', 'key'])),
    'insufficient_scope',
  );
});

test('domains and keys are told of as they come, change and go, once each, and not when nothing has changed', async t => {
  const {actor, watch, createDomain, domains, keys} = await arrange(t);
  const {told} = watch(await actor('full-admin'));

  const {id} = await createDomain('told.test');
  await domains.update(operator, id, {quarantine_threshold: 5}, undefined);
  await domains.update(operator, id, {quarantine_threshold: 5}, undefined);
  await domains.remove(operator, id, undefined);
  const key = await keys.create(operator, {name: 'short-lived', scope: 'read-only'});
  await keys.revoke(operator, key.id, {body: {}, isForced: false});
  await keys.revoke(operator, key.id, {body: {}, isForced: false});
  await keys.remove(operator, key.id, false);

  t.deepEqual(told, [
    'domain told.test created',
    'domain told.test updated',
    'domain told.test deleted',
    'key short-lived created',
    'key short-lived revoked',
    'key short-lived deleted',
  ]);
});

test('a key that is revoked, deleted, expired or left without its domain is told nothing more, and the others go on', async t => {
  const {actor, watch, createDomain, domains, keys, happenAll, clock} = await arrange(t);
  const domain = await createDomain('gone.test');
  const staying = watch(await actor('full-admin'), ['held']);
  const endings: ((keyId: number) => Promise<unknown>)[] = [
    async keyId => keys.revoke(operator, keyId, {body: {}, isForced: true}),
    async keyId => keys.remove(operator, keyId, true),
  ];
  for (const end of endings) {
    const who = await actor('read-only');
    const ended = watch(who, ['held']);
    await end(who.keyId);
    t.true(ended.isEnded);
    happenAll(1);
    t.deepEqual(ended.told, []);
  }
  const bound = watch(await actor('domain-admin', {domain: 'gone.test'}));
  await domains.remove(operator, domain.id, undefined);
  t.true(bound.isEnded);

  const expiring = watch(await actor('read-only', {expires_at: new Date(Date.now() + 3_600_000).toISOString()}), ['held']);
  clock.offsetMs = 3_600_001;
  await eventually(() => expiring.isEnded, 5000);

  happenAll(1);
  t.false(staying.isEnded);
  t.deepEqual(staying.told, ['held alpha', 'held alpha', 'held alpha']);
});

test('how often a key may watch, and all keys together, is bounded, and one that ends makes room', async t => {
  const {actor, watch} = await arrange(t);
  const [one, two] = [await actor('read-only'), await actor('read-only')];
  const [first] = [watch(one), watch(one)];

  t.is(
    codeOf(() => watch(one)),
    'rate_limited',
  );
  watch(two);
  t.is(
    codeOf(() => watch(two)),
    'unavailable',
  );
  first?.close();
  t.is(
    codeOf(() => watch(two)),
    'done',
  );
});

test('the other nodes are listened to while somebody watches here, and no longer', async t => {
  const {actor, watch, listening} = await arrange(t);
  const who = await actor('read-only');

  t.is(listening.count, 0);
  const [first, second] = [watch(who), watch(who)];
  t.deepEqual(listening, {count: 1, starts: 1});
  first?.close();
  first?.close();
  t.is(listening.count, 1);
  second?.close();
  t.is(listening.count, 0);
  watch(who).close();
  t.deepEqual(listening, {count: 0, starts: 2});
});

test('closing ends everything, and nobody may watch after it', async t => {
  const {actor, watch, events, listening} = await arrange(t);
  const who = await actor('read-only');
  const watched = [watch(who), watch(who)];

  events.close();

  t.true(watched.every(({isEnded}) => isEnded));
  t.is(listening.count, 0);
  t.is(
    codeOf(() => watch(who)),
    'unavailable',
  );
});

test('a listener that fails keeps no event from the others, nor the cause of it from going on', t => {
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => {
    failures.push(error);
    throw new Error('the log is full');
  };
  const bus = createEventBus({nodeId: 'alpha', now: () => 0, onFailure});
  const ids: string[] = [];
  bus.subscribe(() => {
    throw new Error('broken');
  });
  bus.subscribe(({id}) => ids.push(id));

  for (let n = 0; n < 2; n += 1) bus.publish({type: 'health', node_id: 'beta', from: 'online', to: 'stale'});

  t.is(failures.length, 2);
  t.is(new Set(ids).size, 2);
});

test('what is live only comes after the mail that was logged before it, however long that takes to read', async t => {
  let logged = 0;
  const source: MailSource = {
    name: 'alpha',
    async after(place) {
      await new Promise(resolve => setTimeout(resolve, 20));
      const from = place === undefined ? logged : Number(place);
      const acted = {node_id: 'alpha', queue_id: 'Q1w2E3r4T5', acted_at: '', acted_by_key_id: 7, already: false};
      const event = {type: 'released', at: '', state: 'released', ...acted} as const;
      const events = from < logged ? [{place: String(logged), event}] : [];
      return {events, place: String(logged), is_gap: false, has_more: false, is_waiting: false};
    },
  };
  const {actor, watch, events} = await arrange(t, [source]);
  const {told} = watch(await actor('full-admin'));
  await new Promise(resolve => setTimeout(resolve, 50));
  const base = {id: 'x', from: 'alpha', domainId: undefined};
  const happen = (change: 'created' | 'updated') =>
    events.receive({...base, isLogged: false, event: {type: 'key', at: '', node_id: 'alpha', id: 1, name: 'k', change}});

  happen('created');
  logged = 1;
  events.receive({...base, isLogged: true, event: {type: 'released', at: ''} as BusEvent['event']});
  happen('updated');
  happen('created');
  await eventually(() => told.length === 4);
  happen('updated');

  t.deepEqual(told, ['key k created', 'released alpha', 'key k updated', 'key k created', 'key k updated']);
});
