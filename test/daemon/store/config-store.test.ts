import type {ConfigStore} from '../../../daemon/services/ports.ts';
import type {Kind} from '../../../daemon/services/records.ts';
import {allDomains, type ChangedKey, type FieldsOf} from '../../../daemon/services/records.ts';
import {domainDefaults} from '../../../shared/field-rules.ts';
import {newFields} from '../../helpers/config-history.ts';
import {testStores} from '../../helpers/store-makes.ts';

const created_at = '2026-03-01T00:00:00.000Z';
const domainFields = (name: string): FieldsOf['domain'] => ({
  name,
  ...domainDefaults,
  backend_servers: ['127.0.0.1:25'],
  created_at,
});
const filterFields = (domain_id: number): FieldsOf['mail_filter'] => ({
  domain_id,
  action: 'block',
  match: 'sender',
  header: null,
  pattern: 'a@bad.test',
  score: null,
  comment: null,
  authenticated: false,
  created_at,
});

const createDomain = async (config: ConfigStore, name: string): Promise<number> =>
  config.change(async tx => {
    const id = await tx.nextId('domain');
    await tx.create('domain', id, domainFields(name));
    return id;
  });

testStores('a change commits as a whole: records, audit entry, and what it reads of itself', async (t, open) => {
  const id = await open.config.change(async tx => {
    const made = await tx.nextId('domain');
    await tx.create('domain', made, domainFields('one.test'));
    t.is((await tx.config.findDomain(made))?.name, 'one.test');
    await tx.audit({keyId: 7, remoteAddress: '192.0.2.1'}, 'domain.create', 'one.test', 'made');
    return made;
  });
  const failed = open.config.change(async tx => {
    await tx.update('domain', id, {quarantine_threshold: 1});
    await tx.create('domain', await tx.nextId('domain'), domainFields('two.test'));
    await tx.audit({keyId: 7, remoteAddress: null}, 'domain.update', 'one.test');
    throw new Error('failed');
  });
  await t.throwsAsync(failed, {message: 'failed'});

  const {store} = await open.reopen();

  t.like(await store.config.findDomain(id), {id, ...domainFields('one.test')});
  t.is((await store.config.listDomains()).length, 1);
  const {entries} = await store.audit.list({}, {limit: 10, offset: 0});
  t.deepEqual(
    entries.map(({action, target, key_id, remote_address, result, detail}) => [
      action,
      target,
      key_id,
      remote_address,
      result,
      detail,
    ]),
    [['domain.create', 'one.test', 7, '192.0.2.1', 'ok', 'made']],
  );
});

testStores(
  'listeners are told of a change after it is committed and before it is over, and of none that failed',
  async (t, {store, config}) => {
    const told: ChangedKey[] = [];
    config.onChange(async changed => {
      for (const {kind, id} of changed) if (kind === 'domain') t.truthy(await store.config.findDomain(id));
      told.push(...changed);
    });

    const id = await createDomain(config, 'one.test');
    t.deepEqual(
      told.splice(0).map(({kind, id: changed}) => `${kind} ${changed}`),
      [`domain ${id}`],
    );
    await t.throwsAsync(config.change(async () => Promise.reject(new Error('failed'))));
    t.deepEqual(told, []);
  },
);

testStores('changes at once all happen, with ids of their own', async (t, {store, config}) => {
  const ids = await Promise.all(Array.from({length: 20}, async (_, n) => createDomain(config, `d${n}.test`)));

  t.is(new Set(ids).size, 20);
  const domains = await store.config.listDomains();
  t.deepEqual(
    domains.map(({name}) => name),
    domains.map(({name}) => name).toSorted(),
  );
  t.deepEqual(
    (await store.config.listDomains([ids[3] ?? 0, -1])).map(({name}) => name),
    ['d3.test'],
  );
});

testStores('what belongs to a domain goes with it, its name is free again, and its id never', async (t, {store, config}) => {
  const [one, two] = [await createDomain(config, 'one.test'), await createDomain(config, 'two.test')];
  const filterIds = await config.change(async tx => {
    const ids = [await tx.nextId('mail_filter'), await tx.nextId('mail_filter')] as const;
    await tx.create('mail_filter', ids[0], filterFields(one));
    await tx.create('mail_filter', ids[1], filterFields(two));
    return ids;
  });

  await config.change(async tx => tx.remove('domain', one));
  const again = await createDomain(config, 'one.test');

  t.not(again, one);
  t.is(await store.config.findDomain(one), undefined);
  t.deepEqual(
    (await store.config.listMailFilters()).map(({id}) => id),
    [filterIds[1]],
  );
  t.deepEqual(await store.config.listMailFilters([one]), []);
  t.true(await store.config.isDeleted({kind: 'domain', id: one}));
  t.true(await store.config.isDeleted({kind: 'mail_filter', id: filterIds[0]}));
  t.false(await store.config.isDeleted({kind: 'domain', id: again}));
});

testStores('filters for all domains are read by themselves, and stay when a domain goes', async (t, {store, config}) => {
  const one = await createDomain(config, 'one.test');
  const [own, forAll] = await config.change(async tx => {
    const ids = [await tx.nextId('mail_filter'), await tx.nextId('mail_filter')] as const;
    await tx.create('mail_filter', ids[0], filterFields(one));
    await tx.create('mail_filter', ids[1], {...filterFields(allDomains), authenticated: true});
    return ids;
  });
  const idsOf = async (...owners: number[]) => (await store.config.listMailFilters(owners)).map(({id}) => id);

  t.deepEqual(await idsOf(allDomains), [forAll]);
  t.deepEqual(await idsOf(one, allDomains), [own, forAll]);
  const {config_hash: before} = await store.config.configHash();
  await config.change(async tx => tx.remove('domain', one));

  t.deepEqual(await idsOf(one, allDomains), [forAll]);
  t.not((await store.config.configHash()).config_hash, before);
  await config.change(async tx => tx.remove('mail_filter', forAll));
  t.deepEqual(await idsOf(one, allDomains), []);
});

testStores('a key is found by its id and by its hash', async (t, {store, config}) => {
  const fields = {
    name: 'ops',
    scope: 'read-only',
    domain: null,
    domain_id: null,
    key_prefix: 'mfk_abcd',
    key_hash: 'a'.repeat(64),
    rate_limit_per_minute: 60,
    expires_at: null,
    revoked_at: null,
    created_at,
  };
  const id = await config.change(async tx => {
    const made = await tx.nextId('api_key');
    await tx.create('api_key', made, fields as unknown as FieldsOf['api_key']);
    return made;
  });

  t.like(await store.config.findApiKey({id}), {id, name: 'ops', key_hash: fields.key_hash});
  t.is((await store.config.findApiKey({key_hash: fields.key_hash}))?.id, id);
  t.is(await store.config.findApiKey({key_hash: 'b'.repeat(64)}), undefined);
  t.deepEqual(
    (await store.config.listApiKeys()).map(key => key.id),
    [id],
  );
});

testStores('the hash is that of what is configured, and not of what was', async (t, {store, config}) => {
  const hash = async () => (await store.config.configHash()).config_hash;
  const empty = await hash();

  const id = await createDomain(config, 'one.test');
  const created = await hash();
  await config.change(async tx => tx.update('domain', id, {quarantine_threshold: 7}));
  const changed = await hash();
  await config.change(async tx => tx.remove('domain', id));

  t.is(new Set([empty, created, changed]).size, 3);
  t.is(await hash(), empty);
});

const textWithNul: [kind: Kind, fields: object][] = [
  ['node', {...newFields.node(1), fqdn: 'a\0.test'}],
  ['node', {...newFields.node(1), node_id: 'a\0'}],
  ['node', {...newFields.node(1), cluster_url: 'https://a\0.test'}],
  ['domain', {...newFields.domain('a\0.test')}],
  ['domain', {...newFields.domain('a.test'), tenant_id: 'a\0'}],
  ['domain', {...newFields.domain('a.test'), backend_servers: ['a\0.test:25']}],
  ['api_key', {...newFields.apiKey(1), name: 'a\0'}],
  ['api_key', {...newFields.apiKey(1), key_hash: 'a\0'}],
  ['mail_filter', {...newFields.mailFilter(0), pattern: 'a\0.test'}],
  ['mail_filter', {...newFields.mailFilter(0), comment: 'a\0'}],
  ['dkim_key', {...newFields.dkimKey(1, 's1'), public_key: 'a\0'}],
  ['dkim_key', {...newFields.dkimKey(1, 's\0')}],
];

testStores('a record with a zero character in a text is not live, and does not stop the others', async (t, {store, config}) => {
  await config.change(async tx => tx.create('domain', 1, newFields.domain('one.test') as never));

  for (const [n, [kind, fields]] of textWithNul.entries())
    t.is(await config.change(async tx => tx.create(kind, 100 + n, fields as never)), undefined, JSON.stringify(fields));

  t.deepEqual(
    (await store.config.listDomains()).map(({name}) => name),
    ['one.test'],
  );
  t.deepEqual(await store.config.listApiKeys(), []);
  t.deepEqual(await store.config.listMailFilters(), []);
  t.deepEqual(await store.config.listDkimKeys(), []);
});
