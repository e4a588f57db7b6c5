import {unjudgedSymbols} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {createLinkOwner} from '../../../../daemon/services/recipients/link-owner.ts';
import {digestDefaults} from '../../../../shared/digest-rules.ts';
import {Fault} from '../../../../shared/fault.ts';
import {domainDefaults} from '../../../../shared/field-rules.ts';
import {nodeId, type OpenStore, testStores} from '../../../helpers/store-makes.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const day = 86_400_000;
const madeMs = Date.parse('2026-03-10T09:00:00Z');
const hash = 'f'.repeat(64);
const link = {hash, queue_id: 'mail000001', address: 'a@one.test', made_at: new Date(madeMs).toISOString(), digest_id: 'a'};

/** A mail with a link, and the owner at a moment. Its queue releases nothing; `meanwhile` runs while the mail is to be released. */
const arrange = async ({store, config}: OpenStore, fields: Partial<Parameters<typeof storedMail>[0]> = {}) => {
  const id = await config.change(async tx => {
    const domainId = await tx.nextId('domain');
    const fields = {...domainDefaults, name: 'one.test', backend_servers: ['127.0.0.1:25'], created_at: tx.at};
    await tx.create('domain', domainId, fields);
    const {enabled: _, ...defaults} = digestDefaults;
    await tx.create('digest', domainId, {
      ...{...defaults, except: [], domain_id: domainId},
      ...{enabled_at: '2026-03-01T00:00:00.000Z', created_at: '2026-03-01T00:00:00.000Z'},
    });
    return domainId;
  });
  const mail = storedMail({
    ...{queue_id: 'mail000001', arrived_at: '2026-03-09T09:00:00.000Z', subject: 'held', score: 7, domain_id: id},
    ...fields,
  });
  await store.transaction(async tx => {
    await tx.hold.insert([mail]);
    await tx.digests.addLinks([link]);
  });
  const acts: unknown[][] = [];
  const ownerAt = (now: number, meanwhile = async () => {}) => {
    const act = async (...given: unknown[]) => {
      acts.push(given);
      await meanwhile();
      return undefined as never;
    };
    return createLinkOwner({nodeId, store, queue: {act}, now: () => now});
  };
  return {id, acts, ownerAt};
};

testStores('a link is good for 14 days', async (t, open) => {
  const {acts, ownerAt} = await arrange(open);

  t.like(await ownerAt(madeMs + 14 * day).view(hash), {state: 'held', action: 'release'});
  const late = ownerAt(madeMs + 14 * day + 1);
  t.like(await late.view(hash), {state: 'outdated', action: 'none'});
  for (const action of ['release', 'request'] as const) await late.act(hash, action, null);
  t.deepEqual(acts, []);
  t.deepEqual(await open.store.hold.requests(['mail000001']), []);
  t.is(await late.view('0'.repeat(64)), undefined);
});

testStores('mail in Postfix with several recipients is asked for, as it can only be released for all', async (t, open) => {
  const {acts, ownerAt} = await arrange(open, {keeper: 'postfix', recipients: ['a@one.test', 'b@one.test']});
  const owner = ownerAt(madeMs);

  t.like(await owner.view(hash), {state: 'held', action: 'request', requested_at: null});
  await owner.act(hash, 'release', '192.0.2.7');
  t.deepEqual(acts, []);
  t.like(await owner.act(hash, 'request', '192.0.2.7', 'gamma'), {
    action: 'request',
    requested_at: new Date(madeMs).toISOString(),
  });
  await ownerAt(madeMs + day).act(hash, 'request', '192.0.2.8');
  t.is((await open.store.hold.requests(['mail000001'])).length, 1);
  const {entries} = await open.store.audit.list({action: 'quarantine.request'}, {limit: 10, offset: 0});
  t.deepEqual(
    entries.map(({key_id, remote_address, target, detail}) => [key_id, remote_address, target, detail]),
    [[0, '192.0.2.7', `${nodeId}/mail000001`, 'asked through gamma; for a@one.test']],
  );
});

for (const except of ['a@one.test', '*@one.test'])
  testStores(`once ${except} is an exception, its links show the mail and do nothing`, async (t, open) => {
    const {id, acts, ownerAt} = await arrange(open);
    const owner = ownerAt(madeMs);
    const setExcept = async (list: string[]) => open.config.change(async tx => tx.update('digest', id, {except: list}));

    await setExcept(['b@one.test', except]);
    t.like(await owner.view(hash), {state: 'held', action: 'none', subject: 'held'});
    for (const action of ['release', 'request'] as const) await owner.act(hash, action, null);
    t.deepEqual(acts, []);
    t.deepEqual(await open.store.hold.requests(['mail000001']), []);

    await setExcept(['b@one.test']);
    t.like(await owner.view(hash), {action: 'release'});
  });

testStores('while its domain is inactive, a link shows the mail and does nothing', async (t, open) => {
  const {id, acts, ownerAt} = await arrange(open);
  const owner = ownerAt(madeMs);
  const setActive = async (active: boolean) => open.config.change(async tx => tx.update('domain', id, {active}));

  await setActive(false);
  t.like(await owner.view(hash), {state: 'held', action: 'none', subject: 'held'});
  await owner.act(hash, 'release', null);
  t.deepEqual(acts, []);

  await setActive(true);
  t.like(await owner.view(hash), {action: 'release'});
});

testStores('a mail in Postfix with one recipient is released', async (t, open) => {
  const {acts, ownerAt} = await arrange(open, {keeper: 'postfix'});

  await ownerAt(madeMs).act(hash, 'release', '192.0.2.7', 'gamma');
  t.like(acts[0], {0: 'release', 1: 'mail000001', 3: ['a@one.test']});
  t.like(acts[0]?.[2], {keyId: 0, remoteAddress: '192.0.2.7', relayedBy: 'gamma'});
});

testStores('what was put on hold by hand or by a rule is asked for', async (t, open) => {
  const {acts, ownerAt} = await arrange(open, {keeper: 'postfix', symbol_scores: unjudgedSymbols});
  const owner = ownerAt(madeMs);

  t.like(await owner.view(hash), {state: 'held', action: 'request'});
  await owner.act(hash, 'release', null);
  t.deepEqual(acts, []);
});

for (const state of ['released', 'discarded', 'expired', 'lost', 'gone'] as const)
  testStores(
    `a mail that is ${state} while its button is pressed is no failure: the link says so from then on`,
    async (t, open) => {
      const {ownerAt} = await arrange(open);
      const at = new Date(madeMs + 1000).toISOString();
      const owner = ownerAt(madeMs, async () => {
        await open.store.transaction(async tx => tx.hold.end(['mail000001'], 'held', {state, at, keyId: null}));
        throw new Fault('conflict', `mail000001 is already ${state}`);
      });

      t.like(await owner.act(hash, 'release', null), {state, ended_at: at, action: 'none'});
      t.like(await owner.view(hash), {state, ended_at: at, action: 'none'});
    },
  );

testStores('a mail that could not be released is held, and the caller hears why', async (t, open) => {
  const {ownerAt} = await arrange(open);
  const owner = ownerAt(madeMs, () => Promise.reject(new Fault('delivery_failed', 'no server answers')));

  await t.throwsAsync(async () => owner.act(hash, 'release', null), {message: /no server answers/});
  t.like(await owner.view(hash), {state: 'held', action: 'release'});
});
