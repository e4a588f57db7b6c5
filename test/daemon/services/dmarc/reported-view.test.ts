import test from 'ava';
import type {Reported} from '../../../../daemon/services/dmarc/received-store.ts';
import {createReportedView, type ReportedNode} from '../../../../daemon/services/dmarc/reported-view.ts';
import {createAskAll} from '../../../../daemon/services/peers/gather.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {Fault} from '../../../../shared/fault.ts';

const actor = {keyId: 1, scope: 'full-admin', reach: {kind: 'all'}, remoteAddress: null} as never;
const stranger = {keyId: 2, scope: 'domain-admin', reach: {kind: 'domain', domainId: 2}, remoteAddress: null} as never;

/** A node with reports of one mail each from one address. */
const nodeWith = (nodeId: string, reports: Record<string, string>): ReportedNode => ({
  nodeId,
  async reported({without}): Promise<Reported> {
    const left = Object.entries(reports).filter(([digest]) => !without.includes(digest));
    return {
      digests: left.map(([digest]) => digest),
      ...{count: left.length, passed: left.length, source_count: new Set(left.map(([, ip]) => ip)).size},
      reporters: left.map(([digest]) => ({reporter: `${digest[0]}.test`, verified: true, count: 1, passed: 1})),
      sources: left.map(([digest, source_ip]) => ({
        ...{source_ip, count: 1, passed: 1, spf_passed: 1, spf_aligned: 0, dkim_passed: 1, dkim_aligned: 1},
        reporters: [{reporter: `${digest[0]}.test`, verified: true, count: 1}],
      })),
    };
  },
});

const silent: ReportedNode = {
  nodeId: 'gone',
  reported: async () => Promise.reject(new Fault('node_unreachable', 'gone')),
};

const viewOf = (nodes: ReportedNode[], nameOf: (ip: string) => Promise<string | undefined> = async () => undefined) =>
  createReportedView({
    nodes: () => nodes,
    ask: createAskAll({onSilent: () => {}}),
    domains: {findByName: name => (name === 'example.com' ? ({id: 1, name} as Domain) : undefined)},
    nameOf,
  });

const choice = {domain: 'example.com', since: '2026-03-01', isVerified: false};

test('a report that came to several nodes is counted once', async t => {
  const nodes = [
    nodeWith('alpha', {a1: '192.0.2.1', b1: '192.0.2.1'}),
    nodeWith('beta', {a1: '192.0.2.1', c1: '192.0.2.2'}),
    nodeWith('gamma', {c1: '192.0.2.2', a1: '192.0.2.1'}),
  ];

  const {result, unreachable} = await viewOf(nodes).sources(actor, choice);

  t.deepEqual(unreachable, []);
  t.like(result, {report_count: 3, count: 3, passed: 3, source_count: 2});
  t.deepEqual(
    result.reporters,
    ['a.test', 'b.test', 'c.test'].map(reporter => ({reporter, verified: true, count: 1, passed: 1})),
  );
  t.deepEqual(
    result.sources.map(({source_ip, count, reporters}) => [source_ip, count, reporters.map(({reporter}) => reporter)]),
    [
      ['192.0.2.1', 2, ['a.test', 'b.test']],
      ['192.0.2.2', 1, ['c.test']],
    ],
  );
});

test('a node that does not answer is named, and the others are still summed up', async t => {
  const {result, unreachable} = await viewOf([nodeWith('alpha', {a1: '192.0.2.1'}), silent]).sources(actor, choice);

  t.deepEqual([result.count, unreachable], [1, ['gone']]);
});

test('a source has the name that resolves back to it, and its network', async t => {
  const nodes = [nodeWith('alpha', {a1: '192.0.2.77', b1: '2001:db8:1:2:3::4', c1: '198.51.100.1'})];
  const view = viewOf(nodes, async ip => (ip === '192.0.2.77' ? 'mail.sender.test' : undefined));

  const {result} = await view.sources(actor, choice);

  t.deepEqual(result.sources.map(({source_ip, name, network}) => [source_ip, name, network]).toSorted(), [
    ['192.0.2.77', 'mail.sender.test', '192.0.2.0/24'],
    ['198.51.100.1', null, '198.51.100.0/24'],
    ['2001:db8:1:2:3::4', null, '2001:db8:1:2::/64'],
  ]);
});

test('names that are not found in time are left out, and the list comes', async t => {
  const view = viewOf([nodeWith('alpha', {a1: '192.0.2.1', b1: '192.0.2.2'})], async ip =>
    ip === '192.0.2.1' ? new Promise(() => {}) : 'fast.test',
  );

  const {result} = await view.sources(actor, choice);

  t.deepEqual(
    result.sources.map(({name}) => name),
    [null, 'fast.test'],
  );
});

test('a domain that the key does not reach is as one that does not exist', async t => {
  const view = viewOf([nodeWith('alpha', {a1: '192.0.2.1'})]);

  await t.throwsAsync(view.sources(stranger, choice), {message: 'not_found: there is no domain example.com'});
  await t.throwsAsync(view.sources(actor, {...choice, domain: 'none.test'}), {
    message: 'not_found: there is no domain none.test',
  });
});
