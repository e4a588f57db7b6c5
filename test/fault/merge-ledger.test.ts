import test from 'ava';
import {bySight, byTime, createMergeLedger, type FoundRecords, type Made, type MergeLedger} from './merge-ledger.ts';

const at = (from: number, node = 'alpha', epoch = 0): Made => ({node, from, to: from + 5, epoch});
const records = (...all: [string, Record<string, unknown>][]): FoundRecords => new Map(all);
const judged = (ledger: MergeLedger, ...nodes: FoundRecords[]) =>
  ledger.judge(new Map(nodes.map((found, n) => [`node${n}`, found])));

const withDomain = (precedes = byTime): MergeLedger => {
  const ledger = createMergeLedger(precedes);
  ledger.created({kind: 'domain', id: 1, name: 'one.test', fields: {tenant_id: 'first'}}, at(0));
  return ledger;
};
const one = records(['domain/1', {tenant_id: 'first'}]);

test('a record that was acknowledged and is nowhere is lost, one that nobody made is an invention', t => {
  t.deepEqual(judged(withDomain(), one), []);
  t.deepEqual(judged(withDomain(), records()).length, 2, 'it, and its name');
  t.is(judged(createMergeLedger(byTime), one).length, 1);
});

test('nodes that are not alike are a violation', t => {
  t.is(judged(withDomain(), one, records(['domain/1', {tenant_id: 'other'}])).length, 1);
});

test('the later of two writes wins, of two at once either', t => {
  const ledger = withDomain();
  ledger.wrote('domain/1', {field: 'tenant_id', value: 'second'}, at(10));
  ledger.wrote('domain/1', {field: 'tenant_id', value: 'third'}, at(20, 'beta'));
  ledger.wrote('domain/1', {field: 'tenant_id', value: 'fourth'}, at(23, 'gamma'));

  const faults = (tenant_id: string) => judged(ledger, records(['domain/1', {tenant_id}])).length;
  t.deepEqual(['first', 'second', 'third', 'fourth'].map(faults), [1, 1, 0, 0]);
});

test('by sight alone, writes of two nodes are at once until both have seen them', t => {
  const ledger = withDomain(bySight);
  ledger.wrote('domain/1', {field: 'tenant_id', value: 'second'}, at(10, 'alpha', 1));
  ledger.wrote('domain/1', {field: 'tenant_id', value: 'third'}, at(20, 'beta', 1));

  const faults = (tenant_id: string) => judged(ledger, records(['domain/1', {tenant_id}])).length;
  t.deepEqual(['first', 'second', 'third'].map(faults), [1, 0, 0]);
});

test('what was deleted stays deleted, with all that belongs to it', t => {
  const ledger = withDomain();
  ledger.created({kind: 'filter', id: 2, parentId: 1}, at(10));
  ledger.deleted('domain/1', at(20));

  t.deepEqual(judged(ledger, records()), []);
  t.is(judged(ledger, one).length, 2, 'the domain is back, its filter lost');
  t.is(judged(ledger, records(['filter/2', {}])).length, 1);
});

test('of two with one name the earlier stays, and exactly one', t => {
  const ledger = withDomain();
  ledger.created({kind: 'domain', id: 2, name: 'one.test'}, at(10, 'beta'));

  t.deepEqual(judged(ledger, one), []);
  t.true(judged(ledger, records(['domain/2', {}])).length > 0);
  t.true(judged(ledger, records(...one, ['domain/2', {}])).length > 0);
  t.true(judged(ledger, records()).length > 0);
});

test('a name is free once it was given up, and not for who claimed it before', t => {
  const ledger = withDomain();
  ledger.created({kind: 'domain', id: 2, name: 'one.test'}, at(10, 'beta'));
  ledger.deleted('domain/1', at(20));
  ledger.created({kind: 'domain', id: 3, name: 'one.test'}, at(30, 'gamma'));

  t.deepEqual(judged(ledger, records(['domain/3', {}])), []);
  t.true(judged(ledger, records(['domain/2', {}])).length > 0);
  t.true(judged(ledger, records()).length > 0);
});

test('a revocation cannot be undone', t => {
  const ledger = createMergeLedger(byTime);
  ledger.created({kind: 'key', id: 7}, at(0));
  ledger.revoked('key/7');

  t.is(judged(ledger, records(['key/7', {revoked_at: null}])).length, 1);
  t.deepEqual(judged(ledger, records(['key/7', {revoked_at: '2026-01-01T00:00:00.000Z'}])), []);
});
