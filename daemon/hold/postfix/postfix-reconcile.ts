// Reconciliation of the index with Postfix's hold queue: mail that others hold, release or remove there appears or disappears
// here too.

import {chunksOf} from '../../../shared/collections.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {domainOf, owningDomain} from '../../../shared/mail-address.ts';
import type {DomainDirectory} from '../../services/domains/domain-directory.ts';
import type {Store} from '../../services/ports.ts';
import {type NewHeldMail, type PostfixMail, unjudgedSymbols} from '../../services/quarantine/stored-mail.ts';
import {toListEntry} from '../held-facts.ts';
import type {PostfixHolder} from './hold-mail.ts';
import {type MailOnHold, mailsIn} from './postfix-body.ts';
import type {PostfixPrograms} from './postfix-programs.ts';
import type {QueuedMail} from './postqueue.ts';
import {createSettlement, isSame} from './settlement.ts';

export interface PostfixReconciliation {
  /** Mails that were put on hold by hand, or by a rule of Postfix. */
  appeared: number;
  /** Mails that have left the hold queue by another hand, or that Postfix never kept. */
  gone: string[];
  /** Mails whose life had ended here and that are on hold again. */
  reopened: string[];
  /** How long postqueue took to list the queue, in milliseconds. */
  pollMs: number;
}

interface Needs {
  nodeId: string;
  store: Store;
  programs: Pick<PostfixPrograms, 'queue'>;
  holder: Pick<PostfixHolder, 'isArriving' | 'hasArrived'>;
  /** Whether an action on the mail is running. */
  isUnderWay(queueId: string): boolean;
  /** Adds mails without a judgement to the index; resolves with their number. */
  adopt(mails: QueuedMail[], signal: AbortSignal): Promise<number>;
  now: () => number;
}

/**
 * Each run lists the queue once. It rejects when the list is incomplete, as a partial list would make the other mails look
 * released. Writes that are left when `signal` aborts are done by the next run.
 */
export const createPostfixReconcile = (needs: Needs): ((signal: AbortSignal) => Promise<PostfixReconciliation>) => {
  const {store, programs, holder, adopt, now} = needs;
  const settle = createSettlement(needs);

  return async signal => {
    const startedAtMs = now();
    const startedAt = new Date(startedAtMs).toISOString();
    const missing = new Map((await store.postfix.list()).map(row => [row.queue_id, row]));
    // Read before the queue, as listing it may take longer than an arrival.
    const arriving = new Set([...missing.keys()].filter(holder.isArriving));
    const unindexed: QueuedMail[] = [];
    const present: [PostfixMail, QueuedMail][] = [];
    for await (const mail of programs.queue()) {
      const row = missing.get(mail.queueId);
      if (mail.queueName !== 'hold') continue;
      if (!row || !isSame(row, mail)) unindexed.push(mail);
      else {
        missing.delete(row.queue_id);
        if (row.queued_at === null || row.state !== 'held') present.push([row, mail]);
      }
    }
    const pollMs = now() - startedAtMs;
    await settle.present(present, signal);
    const gone = await settle.missing(
      [...missing.values()].filter(({queue_id}) => !arriving.has(queue_id)),
      signal,
    );

    const {reopened, unknown} = await settle.unindexed(unindexed, startedAt);
    return {appeared: await adopt(unknown, signal), gone, reopened, pollMs};
  };
};

// Adoption of mails that are on hold in Postfix without a judgement of this node: they are added to the index, and their headers
// are read once.

interface PostfixAdoptNeeds {
  nodeId: string;
  store: Store;
  programs: Pick<PostfixPrograms, 'headers'>;
  domains: Pick<DomainDirectory, 'findByName'>;
  onHeld(mail: HeldMail, domainId: number): void;
  /** Called when headers could not be read; the mails are listed without subjects until a later attempt succeeds. */
  onUnreadable(error: unknown): void;
}

export const createPostfixAdopt = ({nodeId, store, programs, domains, onHeld, onUnreadable}: PostfixAdoptNeeds) => {
  let unread: Set<string> | undefined;

  /** The mails that could be read, by id. */
  const read = async (ids: string[]): Promise<Map<string, MailOnHold>> => {
    const found = new Map<string, MailOnHold>();
    // postcat stops at the first mail that is gone.
    for (let left = ids; left.length > 0; ) {
      const mails = mailsIn(await programs.headers(left));
      for (const mail of mails) found.set(mail.queueId, mail);
      left = left.filter(id => !found.has(id)).slice(1);
    }
    return found;
  };
  const tryRead = async (ids: string[]): Promise<Map<string, MailOnHold>> =>
    read(ids).catch(error => {
      onUnreadable(error);
      return new Map();
    });

  const entryOf = (mail: QueuedMail, found: MailOnHold | undefined): NewHeldMail => ({
    queue_id: mail.queueId,
    arrived_at: new Date(mail.queuedAt * 1000).toISOString(),
    ...ownerOf(mail, domains),
    sender: mail.sender,
    recipients: mail.recipients,
    is_utf8: false,
    is_eight_bit: false,
    from: found?.from ?? null,
    subject: found?.subject ?? '',
    score: 0,
    symbol_scores: unjudgedSymbols,
    reason: 'spam',
    client_ip: found?.clientIp ?? '',
    helo: found?.helo ?? '',
    authentication: null,
    size_bytes: mail.sizeBytes,
    keeper: 'postfix',
    queued_at: mail.queuedAt,
    sha256: '',
  });

  /** Tries again to read headers that could not be read before. */
  const readUnread = async (): Promise<void> => {
    unread ??= new Set(await store.postfix.listWithoutSubject());
    for (const ids of chunksOf([...unread])) {
      const found = await read(ids).catch(() => undefined);
      if (!found) return;
      await store.transaction(async tx => {
        for (const [id, {from, subject, clientIp, helo}] of found)
          await tx.postfix.describe(id, {from, subject, client_ip: clientIp, helo});
      });
      for (const id of ids) unread.delete(id);
    }
  };

  return async (mails: QueuedMail[], signal: AbortSignal): Promise<number> => {
    await readUnread();
    let count = 0;
    for (const some of chunksOf(mails)) {
      if (signal.aborted) break;
      const found = await tryRead(some.map(({queueId}) => queueId));
      const entries = some.map(mail => entryOf(mail, found.get(mail.queueId)));
      await store.transaction(async tx => tx.hold.insert(entries));
      for (const entry of entries) {
        if (!found.has(entry.queue_id)) unread?.add(entry.queue_id);
        onHeld(toListEntry(nodeId, entry), entry.domain_id);
      }
      count += some.length;
    }
    return count;
  };
};

/** No domain has this id: only keys for all domains can see such mail. */
const noDomainId = 0;

/** The domain of the recipients if it is one of ours; for outbound mail the domain of the sender; otherwise none. */
const ownerOf = (
  {sender, recipients}: QueuedMail,
  domains: PostfixAdoptNeeds['domains'],
): Pick<NewHeldMail, 'domain' | 'domain_id' | 'direction'> => {
  const names = new Set(recipients.map(recipient => owningDomain(recipient) ?? ''));
  const [name = ''] = names;
  const to = names.size === 1 ? domains.findByName(name) : undefined;
  if (to && to.direction !== 'outbound') return {domain: to.name, domain_id: to.id, direction: 'inbound'};
  // A sender address can be forged: it must not give access to mail for other domains of this node.
  const isForOthers = [...names].some(other => domains.findByName(other));
  const from = isForOthers ? undefined : domains.findByName(domainOf(sender) ?? '');
  if (from && from.direction !== 'inbound') return {domain: from.name, domain_id: from.id, direction: 'outbound'};
  return {domain: name, domain_id: noDomainId, direction: 'inbound'};
};
