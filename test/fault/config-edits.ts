// Administrators who change the configuration at any node, whichever others it can reach, and the ledger of the answers that they
// got.
import type {ApiAnswer} from '../helpers/api-call.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {otherAddress} from '../helpers/other-address.ts';
import {type Cuts, namedIn} from './mail-book.ts';
import {createMergeLedger, type FoundRecords, type Made, type MergeLedger, type Precedes} from './merge-ledger.ts';

export const editKinds = [
  'set-field',
  'create-domain',
  'delete-domain',
  'contest-domain',
  'add-filter',
  'delete-filter',
  'add-dkim',
  'contest-dkim',
  'create-key',
  'revoke-key',
  'delete-key',
] as const;
export type EditKind = (typeof editKinds)[number];

/** Numbers that select the record and its new value. */
export interface Pick {
  which: number;
  how: number;
}

export interface ConfigEdits {
  /** Rejects for an answer that no node may give. */
  edit(kind: EditKind, at: ClusterNode, pick: Pick): Promise<void>;
  /** Begins a round: all existing records are known to all nodes. */
  begin(): void;
  /** Notes that all nodes had the same configuration. */
  seen(): void;
  /** Deletes the domains and keys of the round through node `at`. */
  clear(at: ClusterNode): Promise<void>;
  judge(nodes: readonly ClusterNode[]): Promise<string[]>;
  readonly ledger: MergeLedger;
}

interface Live {
  id: number;
  /** Undefined: known to all nodes. */
  at: string | undefined;
  domainId?: number;
  value?: string;
}

interface Needs {
  nodes: readonly ClusterNode[];
  key: string;
  cuts: Cuts;
  precedes: Precedes;
}

export const createConfigEdits = ({nodes, key, cuts, precedes}: Needs): ConfigEdits => {
  const ledger = createMergeLedger(precedes);
  let live: Record<'domain' | 'filter' | 'key', Live[]> = {domain: [], filter: [], key: []};
  /** Values of the keys that were revoked or deleted in this round. */
  let ended: string[] = [];
  let round = 0;
  let made = 0;
  let epoch = 0;
  const next = (): number => {
    made += 1;
    return made;
  };

  const ask = async (at: ClusterNode, [method, path, body]: [string, string, object?]) => {
    const from = Date.now();
    const answer = await at.api(method, path, {key, ...(body && {body})});
    const when: Made = {node: at.node_id, from, to: Date.now(), epoch};
    return {answer, when};
  };
  /** True for a success; a refusal with one of `statuses`, or a timeout, is not a failure. */
  const isDone = ({status, body}: ApiAnswer, what: string, ...statuses: number[]): boolean => {
    if (status < 300) return true;
    if (status !== 503 && !statuses.includes(status)) throw new Error(`${what} was answered ${status} ${body}`);
    return false;
  };
  const known = (kind: keyof typeof live, at: ClusterNode, {which}: Pick): Live | undefined => {
    const records = live[kind].filter(record => record.at === undefined || record.at === at.node_id);
    return records[which % Math.max(1, records.length)];
  };
  const forget = (kind: keyof typeof live, gone: Live) => {
    live[kind] = live[kind].filter(record => record !== gone);
  };

  const createDomain = async (at: ClusterNode, name: string): Promise<void> => {
    const fields = {tenant_id: `made ${next()}`};
    const {answer, when} = await ask(at, ['POST', 'domains', {name, backend_servers: ['127.0.0.1:25'], ...fields}]);
    if (!isDone(answer, `POST ${name}`, 409)) return;
    const {id} = answer.json.data;
    ledger.created({kind: 'domain', id, name, fields}, when);
    live.domain.push({id, at: at.node_id});
  };

  const setField = async (at: ClusterNode, pick: Pick): Promise<void> => {
    const domain = known('domain', at, pick);
    if (!domain) return;
    const n = next();
    // No value is used twice. Thresholds set on two sides of a partition may violate the rule that orders them.
    const changes = [
      {tenant_id: `tenant ${n}`},
      {quarantine_threshold: n / 1000},
      {quarantine_threshold: 40 + n / 1000},
      {reject_threshold: 20 + n / 1000},
      {reject_threshold: 80 + n / 1000},
      {backend_servers: [`mx${n}.test:25`]},
      {tenant_id: `both ${n}`, backend_servers: [`both${n}.test:25`]},
    ][pick.how % 7] as object;
    const {answer, when} = await ask(at, ['PUT', `domains/${domain.id}`, changes]);
    if (!isDone(answer, `PUT of domain ${domain.id}`, 404, 422)) return;
    for (const [field, value] of Object.entries(changes)) ledger.wrote(`domain/${domain.id}`, {field, value}, when);
  };

  const addPart = async (at: ClusterNode, pick: Pick, [kind, path, body]: ['filter' | 'dkim', string, object]): Promise<void> => {
    const domain = known('domain', at, pick);
    if (!domain) return;
    const {answer, when} = await ask(at, ['POST', `domains/${domain.id}/${path}`, body]);
    if (!isDone(answer, `POST of a ${kind}`, 404, 409)) return;
    const {id, selector} = answer.json.data;
    const name = selector === undefined ? {} : {name: `${domain.id} ${selector}`};
    ledger.created({kind, id, parentId: domain.id, ...name}, when);
    if (kind === 'filter') live.filter.push({id, at: at.node_id, domainId: domain.id});
  };

  const remove = async (at: ClusterNode, kind: keyof typeof live, record: Live): Promise<ApiAnswer> => {
    const path = {
      domain: `domains/${record.id}`,
      filter: `domains/${record.domainId}/filters/${record.id}`,
      key: `auth/api-keys/${record.id}`,
    }[kind];
    const {answer, when} = await ask(at, ['DELETE', path]);
    if (isDone(answer, `DELETE ${path}`, 404)) {
      ledger.deleted(`${kind}/${record.id}`, when);
      forget(kind, record);
    }
    return answer;
  };

  const createKey = async (at: ClusterNode): Promise<void> => {
    const {answer, when} = await ask(at, ['POST', 'auth/api-keys', {name: `fault ${next()}`, scope: 'read-only'}]);
    if (!isDone(answer, 'POST of a key')) return;
    const {id, key: value} = answer.json.data;
    ledger.created({kind: 'key', id}, when);
    live.key.push({id, at: at.node_id, value});
  };

  /** When a node answers that a key is refused everywhere except on the named nodes, this must be true. */
  const endKey = async (at: ClusterNode, record: Live, end: 'revoke' | 'delete'): Promise<void> => {
    const version = cuts.version();
    forget('key', record);
    const answer =
      end === 'delete' ? await remove(at, 'key', record) : (await ask(at, ['POST', `auth/api-keys/${record.id}/revoke`])).answer;
    if (!isDone(answer, `${end} of key ${record.id}`, 404)) return;
    if (end === 'revoke') ledger.revoked(`key/${record.id}`);
    ended.push(record.value ?? '');
    const named = namedIn(answer);
    const unnamed = cuts.of(at.node_id).filter(node => version === cuts.version() && !named.includes(node));
    if (unnamed.length > 0) throw new Error(`${end} of a key does not name ${unnamed}, which cannot be reached`);
    for (const node of nodes.filter(({node_id}) => !named.includes(node_id))) {
      const {status} = await node.api('GET', 'auth/me', {key: record.value ?? '', from: otherAddress()});
      if (status !== 401) throw new Error(`${node.node_id} answers ${status} to a key that it is said to refuse`);
    }
  };

  const edit: ConfigEdits['edit'] = async (kind, at, pick) => {
    switch (kind) {
      case 'set-field':
        return setField(at, pick);
      case 'create-domain':
        return createDomain(at, `fault${next()}.test`);
      case 'contest-domain':
        return createDomain(at, `fault-contested${round}.test`);
      case 'add-filter':
        return addPart(at, pick, ['filter', 'filters', {action: 'block', match: 'sender', pattern: `a${next()}@evil.test`}]);
      case 'add-dkim':
        return addPart(at, pick, ['dkim', 'dkim-keys', {selector: `s${next()}`, algorithm: 'ed25519'}]);
      case 'contest-dkim':
        return addPart(at, pick, ['dkim', 'dkim-keys', {selector: `contested${round}`, algorithm: 'ed25519'}]);
      case 'create-key':
        return createKey(at);
      case 'delete-domain':
      case 'delete-filter': {
        const what = kind === 'delete-domain' ? 'domain' : 'filter';
        const record = known(what, at, pick);
        if (record) await remove(at, what, record);
        return;
      }
      case 'revoke-key':
      case 'delete-key': {
        const record = known('key', at, pick);
        if (record) await endKey(at, record, kind === 'revoke-key' ? 'revoke' : 'delete');
        return;
      }
      default:
        return kind satisfies never;
    }
  };

  return {
    ledger,
    edit,
    begin() {
      round += 1;
      for (const records of Object.values(live)) for (const record of records) record.at = undefined;
    },
    seen() {
      epoch += 1;
    },
    async clear(at) {
      for (const record of live.domain) await remove(at, 'domain', record);
      for (const record of live.key) await remove(at, 'key', record);
      live = {domain: [], filter: [], key: []};
    },
    async judge(all) {
      const heard = all.flatMap(node => ended.map(value => ({node, value})));
      const answers = await Promise.all(
        heard.map(async ({node, value}) => node.api('GET', 'auth/me', {key: value, from: otherAddress()})),
      );
      const admitted = heard.filter((_, n) => answers[n]?.status !== 401);
      ended = [];
      const found = await Promise.all(all.map(async node => [node.node_id, await readRecords(node, key)] as const));
      return [...admitted.map(({node}) => `${node.node_id} still knows a key that was ended`), ...ledger.judge(new Map(found))];
    },
  };
};

/** All records made here, as a node shows them. */
const readRecords = async (node: ClusterNode, key: string): Promise<FoundRecords> => {
  const get = async (path: string): Promise<{id: number; name: string; last_used_at?: unknown}[]> => {
    const {status, json} = await node.api('GET', path, {key});
    if (status !== 200) throw new Error(`GET ${path} of ${node.node_id}: ${status}`);
    return json.data;
  };
  const isOurs = ({name}: {name: string}) => name.startsWith('fault');
  const domains = (await get('domains')).filter(isOurs);
  const keys = (await get('auth/api-keys')).filter(isOurs);
  const records: [string, Record<string, unknown>][] = [
    ...domains.map((domain): [string, Record<string, unknown>] => [`domain/${domain.id}`, {...domain}]),
    ...keys.map(({last_used_at, ...one}): [string, Record<string, unknown>] => [`key/${one.id}`, one]),
  ];
  for (const {id} of domains) {
    const [filters, dkimKeys] = await Promise.all([get(`domains/${id}/filters`), get(`domains/${id}/dkim-keys`)]);
    for (const one of filters) records.push([`filter/${one.id}`, {...one}]);
    for (const one of dkimKeys) records.push([`dkim/${one.id}`, {...one}]);
  }
  return new Map(records.sort(([a], [b]) => (a < b ? -1 : 1)));
};
