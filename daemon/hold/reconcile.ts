// At start the spool and its index are held against each other: a crash may have come between any two steps.
import {appendAudit} from '../store/audit.ts';
import type {Database} from '../store/database.ts';
import {endLife, insertHeldMails, listQueueIds, listReleasing, unclaim} from '../store/held-mail.ts';
import type {Spool} from './spool.ts';
import {indexEntry} from './spool-hold-queue.ts';

export interface Reconciliation {
  /** Files that had no row and are in the list again. */
  indexed: number;
  /** Rows whose file is gone: marked, audited, and not listed any more. */
  lost: string[];
  /** Files that are no whole mail: put into the folder `damaged`. */
  damaged: string[];
  /** Mails that were being released when the node died, and are held again. */
  unclaimed: number;
  /** Files of mails whose life had ended. */
  removed: number;
}

interface Needs {
  database: Database;
  spool: Spool;
  nodeId: string;
  now: () => number;
}

const batchSize = 5000;

export const reconcile = async (needs: Needs): Promise<Reconciliation> => {
  const {database, spool} = needs;
  const report: Reconciliation = {indexed: 0, lost: [], damaged: [], unclaimed: 0, removed: 0};

  const releasing = await listReleasing(database.write);
  await database.write.transaction(async tx => unclaim(tx, releasing));
  report.unclaimed = releasing.length;

  const files = new Set(await spool.names());
  for (let after = ''; ; ) {
    const rows = await listQueueIds(database.read, after, batchSize);
    for (const {queue_id, is_held} of rows) {
      const hasFile = files.delete(queue_id);
      if (is_held && !hasFile) await markLost(needs, queue_id, report);
      if (is_held || !hasFile) continue;
      await spool.remove(queue_id);
      report.removed += 1;
    }
    const last = rows.at(-1);
    if (!last) break;
    after = last.queue_id;
  }
  for (const queueId of files) await indexAgain(needs, queueId, report);
  return report;
};

const markLost = async ({database, nodeId, now}: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const at = new Date(now()).toISOString();
  await database.write.transaction(async tx => {
    await endLife(tx, queueId, 'held', {state: 'lost', at, keyId: null});
    await appendAudit(tx, {
      at,
      key_id: null,
      action: 'quarantine.lost',
      target: `${nodeId}/${queueId}`,
      remote_address: null,
      result: 'ok',
      detail: 'the file was missing when the node started',
    });
  });
  report.lost.push(queueId);
};

const indexAgain = async ({database, spool}: Needs, queueId: string, report: Reconciliation): Promise<void> => {
  const mail = await spool.open(queueId).catch(() => undefined);
  if (!mail || mail.facts.queue_id !== queueId || !(await spool.isIntact(mail))) {
    await spool.setAside(queueId);
    report.damaged.push(queueId);
    return;
  }
  await database.write.transaction(async tx =>
    insertHeldMails(tx, [indexEntry(mail.facts, mail.content.sizeBytes, mail.sha256)]),
  );
  report.indexed += 1;
};
