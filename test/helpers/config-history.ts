// Histories of configuration changes for property tests: writes that several nodes could have made, in any order, with gaps.

import fc from 'fast-check';
import type {Change} from '../../daemon/replication/apply.ts';
import {formatStamp} from '../../daemon/replication/clock.ts';
import type {Kind, StampedFields} from '../../daemon/services/records.ts';
import {domainDefaults} from '../../shared/field-rules.ts';
import type {Json} from '../../shared/merge-patch.ts';

/** The stamp of the `n`-th write of the cluster. */
export const stampOf = (n: number, nodeNo = 1): string => formatStamp(1_767_225_600_000 + n, 0, nodeNo);

export const stamped = (fields: Record<string, Json>, stamp: string): StampedFields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value, stamp]]));

export const change = (kind: Kind, id: number, stamp: string, fields: Record<string, Json>): Change => ({
  kind,
  id,
  deleted: null,
  fields: stamped(fields, stamp),
});

export const deletion = (kind: Kind, id: number, stamp: string): Change => ({kind, id, deleted: stamp, fields: {}});

/** All fields of a new record, as the services write them. */
export const newFields = {
  node: (id: number) => ({created_at: '2026-01-01T00:00:00.000Z', node_id: `node-${id % 2}`, fqdn: `node-${id}.test`}),
  domain: (name: string) => ({
    created_at: '2026-01-01T00:00:00.000Z',
    name,
    ...domainDefaults,
    backend_servers: ['127.0.0.1:25'],
  }),
  apiKey: (id: number) => ({
    created_at: '2026-01-01T00:00:00.000Z',
    name: `key ${id}`,
    key_hash: `hash-${id}`,
    key_prefix: 'mfk_abcdefgh',
    scope: 'read-only',
    rate_limit_per_minute: 600,
    domain_id: null,
    domain: null,
    expires_at: null,
    revoked_at: null,
  }),
  mailFilter: (domainId: number) => ({
    created_at: '2026-01-01T00:00:00.000Z',
    domain_id: domainId,
    action: 'block',
    match: 'sender_domain',
    header: null,
    pattern: 'bad.test',
    score: null,
    comment: null,
  }),
  dkimKey: (domainId: number, selector: string) => ({
    created_at: '2026-01-01T00:00:00.000Z',
    domain_id: domainId,
    selector,
    algorithm: 'ed25519',
    public_key: 'public',
    private_key_pem: `PRIVATE-${domainId}-${selector}`,
  }),
  webhook: (domainId: number) => ({
    ...{created_at: '2026-01-01T00:00:00.000Z', url: 'https://hooks.test/', events: null, domain_id: domainId, description: null},
    ...{secret: 'PRIVATE-secret', disabled_at: null, disabled_because: null, replay: null},
  }),
  digest: (domainId: number) => ({
    ...{created_at: '2026-01-01T00:00:00.000Z', domain_id: domainId, enabled_at: null},
    ...{at: '07:00', timezone: 'UTC', language: 'en', except: []},
    actions: {spam: 'release', phishing: 'request', sandbox: 'none', rbl: 'release'},
  }),
} as const;

const domainIds = [1, 2, 3, 4];
const names = ['one.test', 'two.test'];

/** The domain of a filter, or `allDomains`. */
export const filterOwner = (id: number): number => id % 4;

/** Each record is created with the same values in every history, because an id is generated once. */
const creations: Record<Kind, (id: number) => Record<string, Json>> = {
  node: newFields.node,
  domain: id => newFields.domain(names[id % names.length] ?? ''),
  api_key: newFields.apiKey,
  mail_filter: id => newFields.mailFilter(filterOwner(id)),
  dkim_key: id => newFields.dkimKey(1 + (id % 2), `s${id % 3}`),
  webhook: id => newFields.webhook(filterOwner(id)),
  digest: newFields.digest,
};

const record = fc.oneof(
  {weight: 4, arbitrary: fc.record({kind: fc.constant<Kind>('domain'), id: fc.constantFrom(...domainIds)})},
  {weight: 2, arbitrary: fc.record({kind: fc.constant<Kind>('dkim_key'), id: fc.integer({min: 1, max: 6})})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant<Kind>('mail_filter'), id: fc.integer({min: 1, max: 4})})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant<Kind>('api_key'), id: fc.integer({min: 1, max: 2})})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant<Kind>('node'), id: fc.integer({min: 1, max: 3})})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant<Kind>('webhook'), id: fc.integer({min: 1, max: 4})})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant<Kind>('digest'), id: fc.constantFrom(...domainIds)})},
);

const updates: Record<Kind, fc.Arbitrary<Record<string, Json>>> = {
  node: fc.record({fqdn: fc.constantFrom('a.test', 'b.test')}),
  domain: fc.record(
    {
      quarantine_threshold: fc.constantFrom<Json>(6, 7, 7, 'seven', null),
      active: fc.boolean(),
      tenant_id: fc.constantFrom(null, 7, 'acme'),
      // The API cannot change it, but a peer can.
      name: fc.constantFrom<Json>(...names, {a: 1}),
      unknown_setting: fc.constantFrom<Json>(true, ['x']),
    },
    {requiredKeys: []},
  ),
  api_key: fc.record({revoked_at: fc.constantFrom('2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z')}),
  mail_filter: fc.record({comment: fc.constantFrom(null, 'x')}),
  dkim_key: fc.record({public_key: fc.constantFrom('public', 'other')}),
  webhook: fc.record({url: fc.constantFrom('https://hooks.test/', 'https://other.test/')}),
  digest: fc.record({language: fc.constantFrom<Json>('en', 'de', 'xx'), timezone: fc.constantFrom<Json>('UTC', 'nowhere')}),
};

/** Changes with distinct stamps; a record may be created, deleted and updated in any order of time. */
export const history = (maxLength: number): fc.Arbitrary<Change[]> =>
  fc
    .array(
      record.chain(({kind, id}) =>
        fc.record({
          kind: fc.constant(kind),
          id: fc.constant(id),
          step: fc.constantFrom('create', 'create', 'create', 'update', 'update', 'delete'),
          fields: updates[kind],
        }),
      ),
      {minLength: 1, maxLength},
    )
    .chain(steps => fc.shuffledSubarray(steps, {minLength: steps.length}))
    .map(steps => {
      const created = new Set<string>();
      return steps.map(({kind, id, step, fields}, n) => {
        const stamp = stampOf(n, 1 + (n % 3));
        if (step === 'delete') return deletion(kind, id, stamp);
        if (step === 'update' || created.has(`${kind}/${id}`)) return change(kind, id, stamp, fields);
        created.add(`${kind}/${id}`);
        return change(kind, id, stamp, creations[kind](id));
      });
    });

/** The same changes as they reach a node: in another order, some twice, in batches of any size. */
export const delivery = (changes: Change[]): fc.Arbitrary<Change[][]> =>
  fc
    .tuple(
      fc.shuffledSubarray(changes, {minLength: changes.length}),
      fc.subarray(changes),
      fc.array(fc.integer({min: 1, max: 4}), {minLength: 1, maxLength: 8}),
    )
    .map(([all, again, sizes]) => {
      const rest = [...all, ...again];
      const batches: Change[][] = [];
      for (let n = 0; rest.length > 0; n += 1) batches.push(rest.splice(0, sizes[n % sizes.length]));
      return batches;
    });
