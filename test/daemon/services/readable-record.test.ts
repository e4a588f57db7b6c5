import test from 'ava';
import {isComplete, toReadable} from '../../../daemon/services/readable-record.ts';
import {domainSchema} from '../../../shared/domain.ts';
import {change, newFields, stampOf} from '../../helpers/config-history.ts';

const domain = change('domain', 1, stampOf(1), newFields.domain('one.test'));
const as = <K>(kind: K, {id, fields}: typeof domain) => ({kind, id, fields});

test('a domain reads as the description has it, in its order, and was updated at its last write', t => {
  const record = {...domain, fields: {...domain.fields, ...change('domain', 1, stampOf(500), {reject_threshold: 20}).fields}};

  const readable = toReadable(as('domain' as const, record));

  t.deepEqual(Object.keys(readable), Object.keys(domainSchema.shape));
  t.deepEqual(domainSchema.parse(readable), readable);
  t.like(readable, {id: 1, reject_threshold: 20, updated_at: '2026-01-01T00:00:00.500Z'});
});

test('a setting that an earlier version has not written has the default of a new domain, and a value that is wrong has not', t => {
  const {dkim_active: _, tenant_id: __, ...fields} = domain.fields;
  const earlier = {...domain, fields};
  const wrong = {...domain, fields: {...fields, dkim_active: [null, stampOf(2)] as [null, string]}};

  t.true(isComplete(earlier));
  t.like(toReadable(as('domain' as const, earlier)), {dkim_active: false, tenant_id: null});
  t.false(isComplete(wrong));
});

test('a domain without its name or its creation is not complete', t => {
  for (const name of ['name', 'created_at'])
    t.false(
      isComplete({...domain, fields: Object.fromEntries(Object.entries(domain.fields).filter(([other]) => other !== name))}),
    );
});

test('what an earlier version did not know of a node or a filter reads as null', t => {
  const node = change('node', 1, stampOf(1), newFields.node(1));
  const filter = change('mail_filter', 1, stampOf(1), newFields.mailFilter(1));

  t.true(isComplete(node));
  t.true(isComplete(filter));
  t.is(toReadable(as('node' as const, node)).smtp_listen, null);
  t.falsy(toReadable(as('mail_filter' as const, filter)).authenticated);
});
