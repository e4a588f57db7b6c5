import {z} from 'zod';
import {nodeId, timestamp} from './fields.ts';
import {healthStates} from './health.ts';

export const licenseSchema = z
  .strictObject({valid: z.boolean(), type: z.string(), status: z.string(), expires_at: timestamp})
  .meta({id: 'License'});
export type License = z.infer<typeof licenseSchema>;

/** The parts that a node tells of; a later version may have more. */
export const dependencyParts = [
  'scanner',
  'backend',
  'smarthost',
  'store',
  'name_servers',
  'postfix',
  'postfix_log',
  'password_file',
  'webhook',
  'digest',
  'recipients_url',
] as const;
export type DependencyPart = (typeof dependencyParts)[number];

export const maxProblems = 100;
export const maxProblemDomains = 10;

export const problemSchema = z
  .strictObject({
    part: z
      .string()
      .max(40)
      .meta({description: `One of ${dependencyParts.join(', ')}; later versions may add others`}),
    name: z.string().max(300).meta({
      description:
        '`host:port` of a backend or of the smarthost, the key of a password file in the configuration, the id of a webhook, or the domain of digests; empty for what a node has one of',
    }),
    domains: z.array(z.string().max(300)).max(maxProblemDomains).meta({description: 'The first domains with that backend'}),
    since: timestamp,
    detail: z.string().max(300).meta({
      description: 'Why, as the system or the server says it; only `full-admin` keys see that of the store and of webhooks',
    }),
    refuses_mail: z.boolean().meta({description: 'Whether the node answers all mail with 451 because of it'}),
  })
  .meta({id: 'Problem', description: 'Something that a node depends on and that does not work'});
export type Problem = z.infer<typeof problemSchema>;

export const peerSchema = z
  .strictObject({
    node_id: nodeId,
    fqdn: z.string(),
    api_url: z.string(),
    last_seen: timestamp.meta({description: 'When the answering node last heard from this one, by its own clock'}),
    healthy: z.enum(healthStates),
    config_hash: z.string().meta({description: '`sha256:` and hex over everything replicated'}),
    config_hash_age_s: z.int().meta({description: 'Seconds since that node’s hash last changed'}),
    outbox_backlog_to_us: z.int().meta({description: 'Replication events of that node the answering node has yet to apply'}),
    license: licenseSchema,
    unanswered_since: timestamp.nullable().meta({
      description:
        'Since when that node has not answered the answering one: two heartbeats at least, or it has said that it stops',
    }),
    unreachable_from: z.array(nodeId).meta({
      description:
        'The nodes that get no answer from that node, whether they hear it or not: the answering one, and those it hears',
    }),
    config_differs_since: timestamp.nullable().meta({
      description:
        'Since when that node’s configuration differs from that of the answering one, while the two hear each other; null while it does not',
    }),
    clock_skew_s: z.number().nullable().meta({
      description: 'Seconds by which the clock of that node is ahead of that of the answering one; null while that is not known',
    }),
    outbox_refused: z.boolean().meta({description: 'Whether a node refuses changes from this one'}),
    cut_off_since: timestamp.nullable().meta({
      description:
        'When the certificate of the answering node expired: it takes mail, but no other node hears it. Null while it is valid, and for other nodes',
    }),
    has_authority: z.boolean().nullable().meta({
      description:
        'Whether that node has the key of the cluster’s authority (`tls/ca.key`), which lets nodes join and renews their certificates; null until that node has been heard',
    }),
    dmarc_config: z.string().nullable().meta({
      description: 'Digest of the settings for DMARC reports on that node; null until it has been heard',
    }),
    dmarc_unset: z.boolean().meta({
      description: 'Whether a domain wants DMARC reports, and that node has no address that they could come from',
    }),
    problems: z
      .array(problemSchema)
      .optional()
      .meta({description: 'What that node depends on and does not work; absent for a node of an earlier version'}),
  })
  .meta({id: 'ClusterPeer'});
export type Peer = z.infer<typeof peerSchema>;

export const clusterStatusSchema = z
  .strictObject({
    local_node_id: nodeId,
    local_hostname: z.string(),
    peers: z.array(peerSchema).meta({description: 'All nodes, the answering one included'}),
    generated_at: timestamp,
  })
  .meta({id: 'ClusterStatus'});
export type ClusterStatus = z.infer<typeof clusterStatusSchema>;
