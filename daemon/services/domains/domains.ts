// Management of domains: list, create, change, delete, and the rules for their backends.
import {createHash} from 'node:crypto';
import {isIP} from 'node:net';
import {
  createDomainSchema,
  type Domain,
  immutableDomainFields,
  nullableDomainFields,
  updatedDomainSchema,
} from '../../../shared/domain.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {Fault, type FieldFault} from '../../../shared/fault.ts';
import {maxBackends} from '../../../shared/field-rules.ts';
import {canonicalHost, type HostPort, isLoopback, isWildcard, parseHostPort} from '../../../shared/host-port.ts';
import {type Json, mergePatch} from '../../../shared/merge-patch.ts';
import {retentionText} from '../../../shared/retention-text.ts';
import {isWithinAccess} from '../../../shared/scopes.ts';
import type {Actor} from '../actor.ts';
import {namesOf} from '../cluster/certificate-names.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import {invalidFields, membersOf, validate} from '../validate.ts';
import type {DomainDirectory} from './domain-directory.ts';
import type {RetentionRules} from './retention-rules.ts';

export interface Domains {
  list(actor: Actor): Domain[];
  get(actor: Actor, id: number): Domain;
  create(actor: Actor, body: unknown): Promise<Domain>;
  /** Applies a JSON merge patch and validates the result. `ifMatch` is the value of the If-Match header, if any. */
  update(actor: Actor, id: number, body: unknown, ifMatch: string | undefined): Promise<Domain>;
  /** Deletes the domain with its DKIM keys and filters; its held mail stays. */
  remove(actor: Actor, id: number, ifMatch: string | undefined): Promise<void>;
}

/** A strong validator (RFC 9110 section 8.8.1), equal on all nodes that have the same record. */
export const etagOf = (domain: Domain): string =>
  `"${createHash('sha256').update(JSON.stringify(domain)).digest('base64url').slice(0, 22)}"`;

interface Needs {
  configuration: ConfigStore;
  directory: DomainDirectory;
  backendFaults: BackendRules;
  retentionFaults: RetentionRules;
}

export const createDomains = ({configuration, directory, backendFaults, retentionFaults}: Needs): Domains => {
  const get: Domains['get'] = (actor, id) => {
    const domain = directory.findById(id);
    if (!domain || !isWithinAccess(actor.reach, id)) throw unknown(id);
    return domain;
  };

  return {
    list: actor => directory.list().filter(({id}) => isWithinAccess(actor.reach, id)),
    get,

    async create(actor, body) {
      const wanted = validate(createDomainSchema, body, backendFaults(actor, membersOf(body).backend_servers, []));
      return configuration.change(async tx => {
        if (directory.findByName(wanted.name)) throw taken(wanted.name);
        const id = await tx.nextId('domain');
        const created = await tx.create('domain', id, {...wanted, retention: wanted.retention ?? undefined, created_at: tx.at});
        await tx.audit(actor, 'domain.create', wanted.name, created?.retention ? retentionChange(created) : undefined);
        // Another domain of this name has been committed and was not in memory yet.
        if (!created) throw taken(wanted.name);
        return created;
      });
    },

    async update(actor, id, body, ifMatch) {
      get(actor, id);
      return configuration.change(async tx => {
        let changed: Partial<Domain> = {};
        const domain = await tx.update('domain', id, current => {
          if (!current) throw unknown(id);
          requireMatch(ifMatch, current);
          changed = changedFields(
            current,
            updated(current, body, ({backend_servers, retention}) => [
              ...backendFaults(actor, backend_servers, current.backend_servers),
              ...retentionFaults(actor, retention, current.retention).map(fault => ({...fault, path: `retention.${fault.path}`})),
            ]),
          );
          return changed;
        });
        if (!domain) throw unknown(id);
        const texts = Object.keys(changed).map(name => (name === 'retention' ? retentionChange(domain) : name));
        if (texts.length > 0) await tx.audit(actor, 'domain.update', domain.name, texts.join(' '));
        return domain;
      });
    },

    async remove(actor, id, ifMatch) {
      get(actor, id);
      await configuration.change(async tx => {
        const current = await tx.config.findDomain(id);
        if (!current) throw unknown(id);
        requireMatch(ifMatch, current);
        // Also deletes the filters and keys of the domain, here and on every node that applies this change.
        await tx.remove('domain', id);
        await tx.audit(actor, 'domain.delete', current.name);
      });
    },
  };
};

const updated = (current: Domain, body: unknown, faultsOf: (patch: {[name: string]: Json}) => FieldFault[]): Domain => {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidFields([{path: '', detail: 'the body must be a JSON object: a complete domain, or the fields to change'}]);

  const patch = {...body} as {[name: string]: Json};
  // The same name in another form is not a change.
  if (typeof patch.name === 'string') patch.name = canonicalDomain(patch.name) ?? patch.name;
  // RFC 7396 removes a member that is null, but null is a valid value of these.
  const nulls = nullableDomainFields.filter(name => patch[name] === null).map(name => [name, null]);
  const merged = {...(mergePatch(current as {[name: string]: Json}, patch) as object), ...Object.fromEntries(nulls)};
  const moved = immutableDomainFields.filter(name => Object.hasOwn(patch, name) && patch[name] !== current[name]);
  const {id, name, created_at, updated_at} = current;
  const next = validate(updatedDomainSchema, {...merged, id, name, created_at, updated_at}, [
    ...moved.map(path => ({path, detail: 'cannot change; leave it out or send the value it has'})),
    ...faultsOf(patch),
  ]);
  return {...next, retention: next.retention ?? null};
};

/** Whoever asks where mail is gone has to see from the audit log how long it was to be held. */
const retentionChange = ({retention}: Domain): string =>
  `retention=${retention ? retentionText(retention).replaceAll(', ', ',').replaceAll(' ', ':') : 'none'}`;

/** A member that is absent is null. */
const changedFields = (current: Domain, next: Domain): Partial<Domain> =>
  Object.fromEntries(
    Object.entries(next).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(current[name as keyof Domain] ?? null),
    ),
  );

/** If-Match by strong comparison, RFC 9110 section 13.1.1. */
const requireMatch = (ifMatch: string | undefined, current: Domain): void => {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const tags = ifMatch.split(',').map(tag => tag.trim());
  if (!tags.includes(etagOf(current)))
    throw new Fault('precondition_failed', 'the domain has changed since it was read; read it again and repeat the change');
};

const unknown = (id: number): Fault => new Fault('not_found', `there is no domain ${id}; GET /domains lists them`);

const taken = (name: string): Fault =>
  new Fault('conflict', `the domain ${name} exists already; change it with PUT, or delete it first`, {
    fields: [{path: 'name', detail: 'is taken'}],
  });

/** Faults of `wanted` as the new `backend_servers`, where `current` is the stored list. An unchanged list has no faults. */
export type BackendRules = (actor: Pick<Actor, 'scope'>, wanted: unknown, current: readonly string[]) => FieldFault[];

interface BackendRulesNeeds {
  nodes: {list(): readonly StoredNode[]};
  /** The number of this node. */
  nodeNo: number;
  /** The networks to which a domain-admin key may send mail; undefined for no restriction. */
  networks(): {contains(ip: string): boolean} | undefined;
}

export const createBackendRules = ({nodes, nodeNo, networks}: BackendRulesNeeds): BackendRules => {
  /** An early check, to report the mistake before mail waits. The check at connection time decides (`clusterKeyword`). */
  const memberAt = (server: HostPort): StoredNode | undefined =>
    nodes.list().find(node => listensAt(node, server, node.id === nodeNo));

  const networkFault = ({host}: HostPort): string | undefined => {
    const allowed = networks();
    if (!allowed) return undefined;
    if (isIP(host) === 0)
      return 'must be an address: a domain-admin key may set only servers inside smtp.backend_networks, and a host name can be pointed elsewhere later';
    return allowed.contains(host)
      ? undefined
      : 'must be inside smtp.backend_networks; ask an administrator of the cluster to set it';
  };

  return (actor, wanted, current) => {
    if (!Array.isArray(wanted) || isSame(wanted, current)) return [];
    return wanted.slice(0, maxBackends).flatMap((entry: unknown, n) => {
      const server = typeof entry === 'string' ? parseHostPort(entry) : undefined;
      if (!server) return [];
      const isLimited = actor.scope === 'domain-admin' && !current.includes(String(entry));
      const member = memberAt(server);
      const detail = member ? memberFault(member) : isLimited ? networkFault(server) : undefined;
      return detail === undefined ? [] : [{path: `backend_servers.${n}`, detail}];
    });
  };
};

const isSame = (wanted: unknown[], current: readonly string[]): boolean =>
  wanted.length === current.length && wanted.every((entry, n) => entry === current[n]);

const memberFault = ({node_id}: StoredNode): string =>
  `is the SMTP listener of ${node_id}, a node of this cluster: mail would go in circles; name the mail server of the domain`;

/** On every node, loopback means that node itself, so a loopback entry is compared only with the node on which it is set. */
const listensAt = (node: StoredNode, {host, port}: HostPort, isThisNode: boolean): boolean => {
  const listener = parseHostPort(node.smtp_listen ?? '');
  if (listener?.port !== port) return false;
  if (isThisNode && isOfThisMachine(host) && isOfThisMachine(listener.host)) return true;
  const addresses = isWildcard(listener.host) ? [] : [canonicalHost(listener.host)];
  return [...namesOf(node), ...addresses].includes(canonicalHost(host));
};

const isOfThisMachine = (host: string): boolean => isLoopback(host) || isWildcard(canonicalHost(host));
