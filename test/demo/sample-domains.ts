// Sample domains that differ in every setting.
import type {ClusterNode} from '../helpers/cluster.ts';

const samples = [
  {
    domain: {name: 'bakery.example'},
    filters: [{action: 'allow', match: 'sender_domain', pattern: 'mill.example', comment: 'our flour'}],
  },
  {
    domain: {name: 'clinic.example', quarantine_threshold: 3, reject_threshold: 9, direction: 'both', dkim_active: true},
    filters: [{action: 'score', match: 'subject', pattern: '*invoice*', score: 4, comment: 'asked for by accounting'}],
    dkim: {selector: 'demo', algorithm: 'ed25519'},
  },
  {
    domain: {name: 'school.example', quarantine_threshold: 9, reject_threshold: 20, tenant_id: 'town'},
    filters: [{action: 'block', match: 'sender_domain', pattern: 'loans.example'}],
  },
] as const;

/** Each domain is created through another node, which makes no difference. */
export const createSampleDomains = async (nodes: ClusterNode[]): Promise<void> => {
  for (const [n, sample] of samples.entries()) {
    const node = nodes[n % nodes.length];
    if (!node) return;
    const {id} = await node.createDomain(sample.domain as object);
    const parts = [
      ...sample.filters.map(body => ({path: 'filters', body})),
      ...('dkim' in sample ? [{path: 'dkim-keys', body: sample.dkim}] : []),
    ];
    for (const {path, body} of parts) {
      const {status, body: text} = await node.api('POST', `domains/${id}/${path}`, {body});
      if (status !== 201) throw new Error(`POST ${path} of ${sample.domain.name}: ${status} ${text}`);
    }
  }
};
