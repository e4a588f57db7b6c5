// Compatibility of the peer protocol: an older node must understand the messages of a newer one, as a cluster is upgraded node by
// node.

import test from 'ava';
import type {z} from 'zod';
import {joinAnswerSchema} from '../../../../daemon/services/cluster/join-protocol.ts';
import {
  digestsPageSchema,
  eventsRequestSchema,
  heartbeatSchema,
  recordsPageSchema,
  recordsRequestSchema,
} from '../../../../daemon/services/cluster/peer-protocol.ts';
import {withActor} from '../../../../daemon/services/peers/question.ts';
import {holdEventSchema, holdListQuestions, holdQuestions} from '../../../../daemon/services/quarantine/hold-questions.ts';
import {newFields, stamped, stampOf} from '../../../helpers/config-history.ts';

const change = {kind: 'domain', id: 1, fields: stamped(newFields.domain('one.test'), stampOf(1)), deleted: null};
const digest = 'a'.repeat(64);
const at = '2026-01-01T00:00:00.000Z';
const actor = {key_id: 1, scope: 'full-admin', reach: {kind: 'all'}, remote_address: null};
const outcome = {
  node_id: 'alpha',
  queue_id: 'AAAAAA1',
  state: 'released',
  acted_at: at,
  acted_by_key_id: 1,
  already: false,
};

const messages: Record<string, [z.ZodType, Record<string, unknown>]> = {
  heartbeat: [
    heartbeatSchema,
    {
      node_id: 'alpha',
      node_no: 1,
      version: '9.0.0',
      clock_ms: 1,
      config_hash: `sha256:${digest}`,
      config_hash_age_s: 1,
      last_seq: 1,
      applied: {1: 1},
      license: {valid: true, type: 'x', status: 'active', expires_at: at},
      has_authority: true,
      key_counts: {window: 1, counts: [[1, 1]]},
      key_uses: [[1, at]],
    },
  ],
  events: [eventsRequestSchema, {floor: 0, events: [{seq: 1, event: {stamp: stampOf(1), changes: [change]}}]}],
  'page of records': [recordsPageSchema, {applied: {1: 1}, records: [change], next: {kind: 'domain', id: 1}}],
  'page of digests': [digestsPageSchema, {digests: [['domain', 1, digest]], next: {kind: 'domain', id: 1}}],
  'request for records': [recordsRequestSchema, {keys: [{kind: 'domain', id: 1}]}],
  'answer to a join': [joinAnswerSchema, {node_cert: 'x', api_cert: 'x', node_no: 2}],
  'request for a held mail': [withActor(holdQuestions.get.request), {actor, queue_id: 'AAAAAA1'}],
  'outcome of an action': [holdQuestions.act.answer('alpha'), outcome],
  'event of a held mail': [holdEventSchema, {id: 'alpha-1', domain_id: 1, event: {...outcome, at, type: 'released'}}],
};

/** The same value with an additional member in every object, except in those whose members are names. */
const grown = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) return value.map(item => grown(item));
  if (typeof value !== 'object' || value === null || ['applied', 'fields', 'actor'].includes(name)) return value;
  const members = Object.entries(value).map(([member, inner]) => [member, grown(inner, member)]);
  return {...Object.fromEntries(members), added_later: {x: 1}};
};

for (const [what, [schema, message]] of Object.entries(messages))
  test(`a ${what} with more members than are known is understood as if these were not there`, t => {
    t.deepEqual(schema.parse(grown(message)), schema.parse(message));
  });

test('who asks and by which filters has to be understood whole: what is left out would let more be seen', t => {
  const list = withActor(holdListQuestions.list.request);
  const request = {actor, filter: {domain: 'one.test'}, page: {limit: 1, offset: 0}};

  t.true(list.safeParse(request).success);
  t.false(list.safeParse({...request, filter: {...request.filter, has_attachment: true}}).success);
  t.false(list.safeParse({...request, actor: {...actor, reach: {kind: 'tenant', tenant: 7}}}).success);
  t.false(list.safeParse({...request, actor: {...actor, may_not: ['read']}}).success);
});

test('records of unknown kinds can be told of, and are neither compared nor asked for', t => {
  const stranger = {...change, kind: 'listener'};

  t.like(recordsPageSchema.parse({applied: {}, records: [stranger], next: {kind: 'listener', id: 1}}), {
    records: [{kind: 'listener'}],
    next: {kind: 'listener'},
  });
  const page = {
    digests: [
      ['listener', 1, digest],
      ['domain', 1, digest],
    ],
    next: null,
  };
  t.deepEqual(digestsPageSchema.parse(page).digests, [['domain', 1, digest]]);
  t.deepEqual(
    recordsRequestSchema.parse({
      keys: [
        {kind: 'listener', id: 1},
        {kind: 'domain', id: 1},
      ],
    }).keys,
    [{kind: 'domain', id: 1}],
  );
});
