import test from 'ava';
import {createClusterView} from '../../../../daemon/services/cluster/cluster-view.ts';
import type {Problem} from '../../../../shared/cluster-status.ts';
import type {Scope} from '../../../../shared/scopes.ts';
import {startBareApi} from '../../../helpers/bare-api.ts';
import {peer} from '../../../helpers/cli/sample-records.ts';

const where = 'PostgreSQL at db.internal:5432 (mfd) does not answer: connection refused';
const problem = {domains: [], since: '2026-03-01T09:30:00.000Z', refuses_mail: true};
const problems: Problem[] = [
  {...problem, part: 'store', name: '', detail: where},
  {...problem, part: 'backend', name: 'mx.example.com:25', detail: 'connection refused', refuses_mail: false},
];
const alpha = {id: 1, node_id: 'alpha', fqdn: 'alpha.test'};
const beta = {id: 2, node_id: 'beta', fqdn: 'beta.test'};

/** This node and another one have the same problems; a third one is of a version that reports none. */
const view = createClusterView({
  config: {configHash: async () => ({config_hash: `sha256:${'a'.repeat(64)}`, changed_at_ms: 0})},
  directory: {list: () => [alpha, beta, {...beta, id: 3}], findByNo: () => alpha},
  peerStates: {
    entryOf: async ({id}: {id: number}) => ({...peer('beta'), ...(id === 2 ? {problems} : {problems: undefined})}),
    latest: () => undefined,
    unreachableFrom: () => [],
  },
  refusals: {whyOfPeer: () => undefined, peersThatRefuse: () => []},
  ...{nodeId: 'alpha', nodeNo: 1, hostname: 'alpha.test', hasAuthority: true, now: Date.now},
  apiUrl: () => 'https://alpha.test:8443',
  license: () => ({valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'}),
  dmarc: () => ({config: null, isUnset: false}),
  problems: () => problems,
  cutOffSince: () => undefined,
} as unknown as Parameters<typeof createClusterView>[0]);

for (const scope of ['read-only', 'full-admin'] as const satisfies Scope[])
  test(`a ${scope} key reads that the store of any node is away, and ${scope === 'full-admin' ? 'where it is' : 'not where it is'}`, async t => {
    const keys = {
      identify: async () => ({id: 1, scope, rate_limit_per_minute: 100}),
      admit: () => ({kind: 'all'}),
    };
    const {url} = await startBareApi(t, {cluster: view, keys});

    const answer = await fetch(`${url}/cluster/status`, {headers: {authorization: 'Bearer mfk_x'}});
    const text = await answer.text();

    t.is(answer.status, 200, text);
    t.is(text.includes('db.internal'), scope === 'full-admin');
    for (const {node_id, problems: shown} of JSON.parse(text).data.peers.slice(0, 2)) {
      t.like(shown, [{part: 'store', since: problem.since, refuses_mail: true}, problems[1]], node_id);
      t.is(shown[0].detail, scope === 'full-admin' ? where : 'a full-admin key sees why');
    }
  });
