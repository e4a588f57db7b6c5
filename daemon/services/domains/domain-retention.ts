// Retention of a domain: how long its mail is held, and the settings of this node where the domain has none.
import type {Domain} from '../../../shared/domain.ts';
import {type Reason, reasons} from '../../../shared/reason.ts';
import {type AppliedRetention, retentionPatchSchema} from '../../../shared/retention.ts';
import {daysOf} from '../../../shared/retention-text.ts';
import type {Actor} from '../actor.ts';
import {validate} from '../validate.ts';
import type {DomainDirectory} from './domain-directory.ts';
import type {Domains} from './domains.ts';
import type {RetentionRules} from './retention-rules.ts';

const dayMs = 24 * 3600 * 1000;

/** Retention by reason, in milliseconds. */
export type RetentionMs = Record<Reason, number>;

/** How long mail of a domain is held that a node would hold for `ofNode`. Mail of a domain that is gone is held for as long as that. */
export const retentionMsOf = (domain: Pick<Domain, 'retention'> | undefined, reason: Reason, ofNode: RetentionMs): number => {
  const days = daysOf(domain?.retention, reason);
  return days === undefined ? ofNode[reason] : days * dayMs;
};

/** The longest that any mail is held, for nodes of 0.8: they know of no domain's setting, and expire mail of other nodes too. */
export const longestRetentionMs = (directory: Pick<DomainDirectory, 'list'>, ofNode: RetentionMs): RetentionMs => {
  const longest = {...ofNode};
  for (const domain of directory.list()) {
    if (!domain.retention) continue;
    for (const reason of reasons) longest[reason] = Math.max(longest[reason], retentionMsOf(domain, reason, ofNode));
  }
  return longest;
};

/** Each method throws a Fault `not_found` for a domain outside the actor's access scope. */
export interface DomainRetentions {
  get(actor: Actor, domainId: number): AppliedRetention;
  /** Applies a JSON merge patch. */
  set(actor: Actor, domainId: number, body: unknown): Promise<AppliedRetention>;
  /** From then on the nodes' settings count. */
  remove(actor: Actor, domainId: number): Promise<AppliedRetention>;
}

interface Needs {
  domains: Pick<Domains, 'get' | 'update'>;
  nodeId: string;
  retentionMs(): RetentionMs;
  retentionFaults: RetentionRules;
}

export const createDomainRetentions = ({domains, nodeId, retentionMs, retentionFaults}: Needs): DomainRetentions => {
  const applied = ({name, retention}: Domain): AppliedRetention => {
    const ofNode = retentionMs();
    const daysFor = (domain: Pick<Domain, 'retention'> | undefined) =>
      Object.fromEntries(reasons.map(reason => [reason, retentionMsOf(domain, reason, ofNode) / dayMs])) as Record<
        Reason,
        number
      >;
    return {
      domain: name,
      ...(retention ?? {days: null, by_reason: {}}),
      in_effect: daysFor({retention}),
      of_node: daysFor(undefined),
      node_id: nodeId,
    };
  };

  return {
    get: (actor, domainId) => applied(domains.get(actor, domainId)),
    async set(actor, domainId, body) {
      const {retention} = domains.get(actor, domainId);
      const patch = validate(retentionPatchSchema, body, retentionFaults(actor, body, retention));
      return applied(await domains.update(actor, domainId, {retention: patch}, undefined));
    },
    remove: async (actor, domainId) => applied(await domains.update(actor, domainId, {retention: null}, undefined)),
  };
};
