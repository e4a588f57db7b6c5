// Searches of the whole cluster that some node does not finish in time.
import test from 'ava';
import {createAskAll} from '../../../../daemon/services/peers/gather.ts';
import {createQuarantine} from '../../../../daemon/services/quarantine/quarantine.ts';
import type {ListedQueue} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {SearchOverdue} from '../../../../daemon/services/search-limits.ts';
import {Fault} from '../../../../shared/fault.ts';
import {operator} from '../../../helpers/hold-queue.ts';

const filter = {subject: 'ab'};
const page = {limit: 10, offset: 0};

const queueOf = (nodeId: string, read: () => Promise<void>): ListedQueue => ({
  nodeId,
  actsAtOnce: 1,
  async list() {
    await read();
    return {mails: [], total: 1};
  },
  async samples() {
    await read();
    return {marks: [], total: 1};
  },
  positionOf: async () => 0,
  async summary() {
    await read();
    return {count: 1, size_bytes: 1, oldest_arrived_at: null, groups: []};
  },
  get: async () => Promise.reject(new Error('not asked')),
  body: async () => Promise.reject(new Error('not asked')),
  act: async () => Promise.reject(new Error('not asked')),
  train: async () => Promise.reject(new Error('not asked')),
});

const quarantineOf = (queues: ListedQueue[], limits: {searchWithinMs?: number} = {}) => {
  const silent: string[] = [];
  const ask = createAskAll({onSilent: nodeId => silent.push(nodeId)});
  return {silent, ...createQuarantine({queues: () => queues, ask, onUnexpected: () => {}, ...limits})};
};

const answers = async () => {};

test('a search that takes this node too long is its 503, and not a list without its mail', async t => {
  const overdue = async () => Promise.reject(new SearchOverdue('a test', 'for nobody'));
  const quarantine = quarantineOf([queueOf('alpha', overdue), queueOf('beta', answers)]);

  for (const asked of [quarantine.list(operator, filter, page), quarantine.summary(operator, filter)]) {
    const fault = await t.throwsAsync(asked, {instanceOf: Fault});
    t.is(fault?.status, 503);
    t.regex(fault?.detail ?? '', /narrow the search/);
  }
  t.deepEqual(quarantine.silent, []);
});

test('a search that takes another node too long is a list without its mail, which names it', async t => {
  // As the client of a peer has it.
  const overdue = async () => Promise.reject(new Fault('unavailable', 'the search took too long; narrow the search'));
  const quarantine = quarantineOf([queueOf('alpha', answers), queueOf('beta', overdue)]);

  const listed = await quarantine.list(operator, filter, page);
  const counted = await quarantine.summary(operator, filter);

  t.deepEqual(listed, {result: {mails: [], total: 1}, unreachable: ['beta']});
  t.deepEqual(counted.unreachable, ['beta']);
});

test('the rounds of a search end together, and those of a list go on', async t => {
  const quarantine = quarantineOf([queueOf('alpha', answers), queueOf('beta', answers)], {searchWithinMs: -1});

  await t.throwsAsync(quarantine.list(operator, filter, page), {instanceOf: SearchOverdue});

  t.is((await quarantine.list(operator, {domain: 'one.test'}, page)).result.total, 2);
});
