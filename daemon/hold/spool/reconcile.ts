// Reconciliation of the spool and its database rows at start: a crash may have happened between any two steps.

import {lostEvent} from '../../services/events/held-event.ts';
import type {NodeStore} from '../../services/node-store.ts';
import type {HeldState} from '../../services/quarantine/stored-mail.ts';
import {spoolEntry} from '../held-facts.ts';
import {heldMailEntry} from '../hold-writes.ts';
import {createDifference, type Difference} from './difference.ts';
import type {Spool, SpooledMail} from './spool.ts';

export interface Reconciliation {
  /** Files without a row, which were added to the list again. */
  indexed: number;
  /** Rows without a file: marked, audited, and not listed any more. */
  lost: string[];
  /** Mails that were marked lost and whose file is back: held again, and audited. */
  recovered: string[];
  /** Rows that contradicted themselves or their files, and were written again from the files. */
  remade: string[];
  /** Damaged files or files of another mail, moved to the folder `damaged`. */
  damaged: string[];
  /** Number of mails that were being released when the node died, and are held again. */
  unclaimed: number;
  /** Number of removed files of mails that were released, discarded or expired. */
  removed: number;
  /** Files of such mails that could not be removed. */
  leftover: string[];
}

interface Needs {
  store: NodeStore;
  spool: Spool;
  nodeId: string;
  now: () => number;
  /** Compares every row with the header of its file, which takes a moment for each. */
  isThorough?: boolean;
  /** Nothing is written before it resolves. */
  mayWrite?: Promise<void>;
}

const batchSize = 500;

/** Reads all names in batches, however many mails there are, and looks at the mails that may be in one place only. */
export const reconcile = async (needs: Needs): Promise<Reconciliation> => {
  const {store, spool, isThorough = false, mayWrite} = needs;
  const report: Reconciliation = {
    indexed: 0,
    lost: [],
    recovered: [],
    remade: [],
    damaged: [],
    unclaimed: 0,
    removed: 0,
    leftover: [],
  };

  const difference = createDifference();
  const [{odd, claimed}] = await Promise.all([store.spooled.overview(), toggleAll(difference, spool.batches(batchSize))]);
  await toggleAll(difference, store.spooled.held());
  await mayWrite;
  await store.transaction(async tx => tx.hold.unclaim(claimed));
  report.unclaimed = claimed.length;
  for (const queueId of odd) await remake(needs, queueId, report);

  if (isThorough || !difference.isNone()) {
    const isRemade = new Set(odd);
    const isSuspect = (name: string) => !isRemade.has(name) && (isThorough || difference.mayHave(name));
    await settleFiles(needs, isSuspect, report);
    for await (const names of store.spooled.held())
      for (const name of names) if (isSuspect(name) && !(await spool.has(name))) await markLost(needs, name, report);
  }
  if (report.remade.length > 0) await store.transaction(async tx => tx.spooled.rebuildCounts());
  return report;
};

const toggleAll = async (difference: Difference, batches: AsyncIterable<string[]>): Promise<void> => {
  for await (const names of batches) for (const name of names) difference.toggle(name);
};

const settleFiles = async (needs: Needs, isSuspect: (name: string) => boolean, report: Reconciliation): Promise<void> => {
  for await (const names of needs.spool.batches(batchSize)) {
    const suspects = names.filter(isSuspect);
    if (suspects.length === 0) continue;
    const states = await needs.store.spooled.states(suspects);
    for (const name of suspects) await settle(needs, {queueId: name, state: states.get(name)}, report);
  }
};

/** Settles one file. */
const settle = async (
  needs: Needs,
  {queueId, state}: {queueId: string; state: HeldState | undefined},
  report: Reconciliation,
): Promise<void> => {
  switch (state) {
    case undefined:
      return indexAgain(needs, queueId, report);
    case 'held':
    case 'releasing':
    case 'discarding':
      return needs.isThorough ? compareWithFile(needs, queueId, report) : undefined;
    case 'lost':
      return recover(needs, queueId, report);
    // Only files of ended mails are ever deleted.
    case 'released':
    case 'discarded':
    case 'expired':
    case 'gone':
      return removeFile(needs, queueId, report);
    default:
      return state satisfies never;
  }
};

const removeFile = async ({spool}: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  try {
    await spool.remove(queueId);
    report.removed += 1;
  } catch {
    // A node with a file that cannot be removed still accepts mail.
    report.leftover.push(queueId);
  }
};

const markLost = async ({store, nodeId, now}: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const at = new Date(now()).toISOString();
  await store.transaction(async tx => {
    await tx.hold.end([queueId], 'held', {state: 'lost', at, keyId: null});
    const detail = 'the file was missing when the node started';
    await tx.audit.append(heldMailEntry(nodeId, queueId, {at, action: 'lost', detail}));
  });
  report.lost.push(queueId);
};

/** A row may contain anything; the header of the file has a checksum. */
const remake = async (needs: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const {store, spool, nodeId, now} = needs;
  const mail = await wholeFile(spool, queueId);
  await store.transaction(async tx => {
    await tx.spooled.drop(queueId);
    if (mail) await tx.hold.insert([entryOf(mail)], 'moved');
    const at = new Date(now()).toISOString();
    const detail = 'what was known of it had changed on the disk';
    if (mail) return;
    await tx.audit.append(heldMailEntry(nodeId, queueId, {at, action: 'lost', detail}));
    await tx.events.append([lostEvent(queueId, at, detail)]);
  });
  report.remade.push(queueId);
  if (!mail) report.lost.push(queueId);
};

const compareWithFile = async (needs: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const [row, file] = await Promise.all([needs.store.hold.find(queueId), needs.spool.open(queueId).catch(() => undefined)]);
  // A damaged file is found when it is read, and its row has the only known facts.
  if (!row || file?.facts.queue_id !== queueId) return;
  const wanted = entryOf(file);
  const isStruck = row.recipients.every(recipient => wanted.recipients.includes(recipient));
  const isSame = Object.entries(wanted).every(
    ([name, value]) =>
      name === 'recipients' ||
      // Read from the mail itself, as files of earlier versions do not have it.
      (name === 'from' && value === null) ||
      JSON.stringify(row[name as keyof typeof row]) === JSON.stringify(value),
  );
  if (!isSame || !isStruck) await remake(needs, queueId, report);
};

const entryOf = ({facts, content, sha256}: SpooledMail) => spoolEntry(facts, {sizeBytes: content.sizeBytes, sha256});

const recover = async ({store, spool, nodeId, now}: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const row = await store.hold.find(queueId);
  const file = await wholeFile(spool, queueId);
  if (!row || file?.sha256 !== row.sha256) {
    await spool.setAside(queueId);
    report.damaged.push(queueId);
    return;
  }
  const at = new Date(now()).toISOString();
  await store.transaction(async tx => {
    await tx.hold.reopen(row, at);
    const detail = 'the file was there again when the node started';
    await tx.audit.append(heldMailEntry(nodeId, queueId, {at, action: 'recovered', detail}));
  });
  report.recovered.push(queueId);
};

const indexAgain = async ({store, spool}: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const mail = await wholeFile(spool, queueId);
  if (!mail) {
    await spool.setAside(queueId);
    report.damaged.push(queueId);
    return;
  }
  await store.transaction(async tx => tx.hold.insert([entryOf(mail)]));
  report.indexed += 1;
};

/** The file, if it is complete and belongs to the mail in its name. */
const wholeFile = async (spool: Spool, queueId: string): Promise<SpooledMail | undefined> => {
  const mail = await spool.open(queueId).catch(() => undefined);
  return mail && mail.facts.queue_id === queueId && (await spool.isIntact(mail).catch(() => false)) ? mail : undefined;
};
