// Configuration, logs and received reports of a node, moved into the store that all nodes share.
import {CommandError} from '../node/command-error.ts';
import {apply} from '../replication/apply.ts';
import {observe, stampsOf} from '../replication/clock.ts';
import type {CommonStore} from '../services/common-store.ts';
import {placeAfter} from '../services/events/mail-event.ts';
import type {NodeStore, RecordReads} from '../services/node-store.ts';
import {type ConfigRecord, kinds, type RecordKey, replicatedPart} from '../services/records.ts';
import type {StoredRows} from '../store/sqlite/stored-rows.ts';

const pageSize = 1000;

/** Every record, deleted ones too: a deletion counts against changes that did not see it. */
export const allRecords = async (records: RecordReads): Promise<ConfigRecord[]> => {
  const all: ConfigRecord[] = [];
  for (let after: RecordKey | undefined; ; ) {
    const page = await records.after(after, pageSize);
    all.push(...page.map(replicatedPart));
    after = page.at(-1);
    if (page.length < pageSize) return all;
  }
};

/** Refuses a common store with another configuration. Resolves with whether it has none yet. */
export const requireSameConfig = async (from: NodeStore, to: CommonStore): Promise<boolean> => {
  if ((await to.records.after(undefined, 1)).length === 0) return true;
  const [own, shared] = [await from.config.configHash(), await to.config.configHash()];
  if (own.config_hash !== shared.config_hash)
    throw new CommandError(
      'the configuration of this node differs from the one in PostgreSQL, so changes would be lost; nothing was done: start this node and another one with SQLite until mfctl cluster status shows one config_hash; if no other node is in PostgreSQL yet, drop the database and create it again',
    );
  return false;
};

/** Copies all records in one transaction, if there are none yet, and what this node has noted about others. */
export const moveConfig = async (from: NodeStore, to: CommonStore, isEmpty: boolean): Promise<number> => {
  const records = await allRecords(from.records);
  const {config_hash} = await from.config.configHash();
  const names = await from.trust.listIssuedNames();
  const uses = await from.keyUses.list();
  await to.changeTransaction(async tx => {
    if (isEmpty) {
      await apply(tx, records, Date.now());
      if ((await tx.config.configHash()).config_hash !== config_hash)
        throw new CommandError(
          'the copied configuration differs from the one of this node; nothing was copied: mfd repair first',
        );
    }
    await observe(tx.state, records.flatMap(stampsOf), Date.now());
    // Ids must not be reused.
    for (const kind of kinds) await tx.sequences.raise(kind, await from.sequences.last(kind));
    await tx.trust.addIssuedNames(names);
    await tx.keyUses.record(uses);
  });
  return records.length;
};

/** The name in the state of this node for the number of the last entry that was copied. */
const auditMark = 'migrated_audit';

/** Appends the entries in their order. Each commit contains how far it goes, so that a repetition continues after it. */
export const moveAudit = async (from: StoredRows, to: CommonStore): Promise<number> => {
  let after = Number((await to.state.read(auditMark)) ?? 0);
  for (let moved = 0; ; ) {
    const page = await from.audit(after, pageSize);
    const last = page.at(-1)?.seq;
    if (last === undefined) return moved;
    await to.transaction(async tx => {
      await tx.audit.append(...page.map(({seq: _seq, hash: _hash, ...entry}) => entry));
      await tx.state.write(auditMark, String(last));
    });
    after = last;
    moved += page.length;
  }
};

const eventMark = 'migrated_events';

/** Moves the event log in the same way. The entries keep their numbers. */
export const moveEvents = async (from: StoredRows, to: CommonStore): Promise<void> => {
  let after = Number((await to.state.read(eventMark)) ?? 0);
  for (;;) {
    const page = await from.events(after, pageSize);
    const last = page.at(-1)?.number;
    if (last === undefined) return;
    await to.transaction(async tx => {
      await tx.events.move(page);
      await tx.state.write(eventMark, String(last));
    });
    after = last;
  }
};

/** How far this node has sent its log to webhooks, and what was not taken. The places of the log are others in the new store. */
export const moveWebhooks = async ({webhooks}: NodeStore, to: CommonStore): Promise<void> => {
  for (const progress of await webhooks.progress()) {
    const {webhook_id, logged_by, number} = progress;
    const deliveries = await webhooks.deliveries({webhook_id, logged_by, limit: Number.MAX_SAFE_INTEGER});
    await to.transaction(async tx => {
      await tx.webhooks.save({...progress, place: placeAfter(number), from: number});
      for (const delivery of deliveries) await tx.webhooks.put(delivery);
    });
  }
};

/** Adds the DMARC reports that others have sent. One that another node received too is stored once. */
export const moveReceived = async (from: StoredRows, to: CommonStore): Promise<void> => {
  for (let after = ''; ; ) {
    const page = await from.received(after, pageSize);
    for (const report of page) {
      const sources = await from.receivedSources(report.digest);
      await to.transaction(async tx => tx.received.insert(report, sources));
    }
    after = page.at(-1)?.digest ?? '';
    if (page.length < pageSize) return;
  }
};
