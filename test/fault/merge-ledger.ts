// The outside ledger of configuration: every change that a node has acknowledged, and which of them may remain by the rules of
// merging (daemon/replication/DESIGN.md). It knows when and where each was made, and nothing about stamps.

/** Time and place of a change, as its client saw it. */
export interface Made {
  node: string;
  /** Wall-clock milliseconds before the request and after its acknowledgement. */
  from: number;
  to: number;
  /** Grows each time that all nodes had the same configuration. */
  epoch: number;
}

/** Whether `a` is certainly the earlier write of the two. */
export type Precedes = (a: Made, b: Made) => boolean;

/** For nodes with the same clock. */
export const byTime: Precedes = (a, b) => a.to < b.from;

/** For nodes with arbitrary clocks: only what a node had seen, or written itself, came before. */
export const bySight: Precedes = (a, b) => a.epoch < b.epoch || (a.node === b.node && a.to < b.from);

type RecordKind = 'domain' | 'filter' | 'dkim' | 'key';

interface NewRecord {
  kind: RecordKind;
  id: number;
  /** The domain to which it belongs. */
  parentId?: number;
  /** A value that only one live record of the kind may have. */
  name?: string;
  fields?: Record<string, unknown>;
}

/** All records of one node, by `kind/id`. */
export type FoundRecords = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

export interface MergeLedger {
  created(record: NewRecord, made: Made): void;
  /** Field `field` of a record got a value that it never had before. */
  wrote(record: string, write: {field: string; value: unknown}, made: Made): void;
  deleted(record: string, made: Made): void;
  revoked(record: string): void;
  /** Changes that were lost, came back or differ between nodes: a line each. */
  judge(found: ReadonlyMap<string, FoundRecords>): string[];
  readonly acknowledged: number;
}

interface Account extends NewRecord {
  created: Made;
  deleted: Made[];
  isRevoked: boolean;
  writes: Map<string, {value: unknown; made: Made}[]>;
}

export const createMergeLedger = (precedes: Precedes): MergeLedger => {
  const accounts = new Map<string, Account>();
  let acknowledged = 0;
  const accountOf = (record: string): Account => {
    const account = accounts.get(record);
    if (!account) throw new Error(`${record} was never created`);
    return account;
  };
  /** Whether its name was free when it claimed it; undefined where that is unknown from outside. */
  const hasName = (account: Account): boolean | undefined => {
    const {kind, name, created} = account;
    if (name === undefined) return true;
    const conflicts = [...accounts.values()].filter(
      other =>
        other !== account &&
        other.kind === kind &&
        other.name === name &&
        !precedes(created, other.created) &&
        !other.deleted.some(deletion => precedes(deletion, created)),
    );
    const holds = conflicts.map(conflict => {
      const isFirst = precedes(conflict.created, created) && conflict.deleted.every(deletion => precedes(created, deletion));
      return isFirst ? hasName(conflict) : undefined;
    });
    if (holds.includes(true)) return false;
    return holds.includes(undefined) ? undefined : true;
  };
  /** Whether the rules leave it live; undefined where that is unknown from outside. */
  const isLive = (account: Account, records: FoundRecords): boolean | undefined => {
    const {parentId} = account;
    if (account.deleted.length > 0 || (parentId !== undefined && !records.has(`domain/${parentId}`))) return false;
    return hasName(account);
  };

  const faultsOf = (record: string, account: Account, records: FoundRecords): string[] => {
    const found = records.get(record);
    const shouldLive = isLive(account, records);
    if (shouldLive === false) return found ? [`${record} is back, or was never gone`] : [];
    if (!found) return shouldLive ? [`${record} is lost`] : [];
    const wrong = [...account.writes].flatMap(([field, writes]) => {
      const last = writes.filter(one => !writes.some(other => precedes(one.made, other.made)));
      const value = JSON.stringify(found[field]);
      if (last.some(write => JSON.stringify(write.value) === value)) return [];
      return [`${record} has ${field} ${value}, where ${last.map(write => JSON.stringify(write.value)).join(' or ')} was last`];
    });
    if (account.isRevoked && !found.revoked_at) wrong.push(`${record} was revoked and is not`);
    return wrong;
  };
  /** Of many records that claimed one name and were not deleted, one has it. */
  const sharedNames = (records: FoundRecords): string[] => {
    const claims = new Map<string, [string, Account][]>();
    for (const [record, account] of accounts) {
      const name = `${account.kind} ${account.name}`;
      if (account.name !== undefined) claims.set(name, [...(claims.get(name) ?? []), [record, account]]);
    }
    return [...claims].flatMap(([name, claimed]) => {
      const live = claimed.filter(([record]) => records.has(record)).length;
      const mayBeNone = claimed.some(([, one]) => one.deleted.length > 0 || isLive(one, records) === false);
      return live === 1 || (live === 0 && mayBeNone) ? [] : [`${name} is there ${live} times`];
    });
  };

  return {
    get acknowledged() {
      return acknowledged;
    },
    created(record, made) {
      const writes: Account['writes'] = new Map(
        Object.entries(record.fields ?? {}).map(([field, value]) => [field, [{value, made}]]),
      );
      accounts.set(`${record.kind}/${record.id}`, {...record, created: made, deleted: [], isRevoked: false, writes});
      acknowledged += 1;
    },
    wrote(record, {field, value}, made) {
      const {writes} = accountOf(record);
      writes.set(field, [...(writes.get(field) ?? []), {value, made}]);
      acknowledged += 1;
    },
    deleted(record, made) {
      accountOf(record).deleted.push(made);
      acknowledged += 1;
    },
    revoked(record) {
      accountOf(record).isRevoked = true;
      acknowledged += 1;
    },
    judge(found) {
      const [first, ...others] = [...found];
      if (!first) return [];
      const [node, records] = first;
      const wrong = [...accounts].flatMap(([record, account]) => faultsOf(record, account, records));
      const invented = [...records.keys()].filter(record => !accounts.has(record)).map(record => `${record} was made by nobody`);
      const different = others.flatMap(([other, itsRecords]) => differences([node, records], [other, itsRecords]));
      return [...wrong, ...invented, ...sharedNames(records), ...different];
    },
  };
};

const differences = ([one, a]: [string, FoundRecords], [other, b]: [string, FoundRecords]): string[] =>
  [...new Set([...a.keys(), ...b.keys()])]
    .filter(record => JSON.stringify(a.get(record)) !== JSON.stringify(b.get(record)))
    .map(record => `${record} is ${JSON.stringify(a.get(record))} on ${one} and ${JSON.stringify(b.get(record))} on ${other}`);
