// This node's own hold queue: bytes in the spool, everything else in the database.
import type {HeldMail, HeldMailDetail} from '../../shared/held-mail.ts';
import {subjectOf} from '../services/header-block.ts';
import type {HeldMailFacts, Judgement, Ownership, ReceivedMail} from '../services/mail.ts';
import type {HoldQueue, Keep} from '../services/ports.ts';
import {insertHeldMails, type NewHeldMail, type StoredHeldMail} from '../store/held-mail.ts';
import {groupHeld, listHeld, markHeld, rankHeld} from '../store/held-query.ts';
import {createBatch} from './batch.ts';
import {openHeldFile} from './held-file.ts';
import {createHoldActions, type HoldActions, type HoldActionsNeeds, unknownMail} from './hold-actions.ts';

export type SpoolHoldQueue = HoldQueue & Keep & Pick<HoldActions, 'expire' | 'idle'>;

interface Needs extends HoldActionsNeeds {
  traceHeader(mail: ReceivedMail): Buffer;
  /** Told of every mail that has come into the queue, once it is on stable storage. */
  onHeld(mail: HeldMail, domainId: number): void;
}

export const createSpoolHoldQueue = (needs: Needs): SpoolHoldQueue => {
  const {nodeId, database, spool, withRoom} = needs;
  const {act, expire, idle, find, audit} = createHoldActions(needs);
  const index = createBatch<NewHeldMail>(async mails => {
    await database.write.transaction(async tx => insertHeldMails(tx, mails));
  });
  const isHere = (node: string | undefined) => node === undefined || node === nodeId;

  return {
    nodeId,
    act,
    expire,
    idle,

    async hold(mail, ownership, judgement) {
      const facts = factsOf(mail, ownership, judgement);
      const {sizeBytes, sha256} = await spool.place(facts, needs.traceHeader(mail), mail.content);
      try {
        await index(indexEntry(facts, sizeBytes, sha256));
      } catch (error) {
        await spool.remove(mail.queueId);
        throw error;
      }
      needs.onHeld(toListEntry(nodeId, facts, sizeBytes), facts.domain_id);
    },

    async list(filter, page, {reach}) {
      if (!isHere(filter.node)) return {mails: [], total: 0};
      const {mails, total} = await listHeld(database.read, filter, reach, page);
      return {mails: mails.map(mail => ({node_id: nodeId, ...mail})), total};
    },

    async marks(filter, steps, {reach}) {
      if (!isHere(filter.node)) return {marks: [], total: 0};
      const {marks, total} = await markHeld(database.read, filter, reach, steps);
      return {marks: marks.map(mark => ({...mark, node_id: nodeId})), total};
    },

    async rank(filter, {arrived_at, node_id, queue_id}, {reach}) {
      if (!isHere(filter.node)) return 0;
      // Of mails that arrived at the same time those of one node come before those of the next.
      const among = nodeId === node_id ? {before: queue_id} : nodeId < node_id ? 'all' : 'none';
      return rankHeld(database.read, filter, reach, {arrived_at, among});
    },

    async summary(filter, {reach}) {
      const groups = isHere(filter.node) ? await groupHeld(database.read, filter, reach) : [];
      return {
        count: groups.reduce((sum, {count}) => sum + count, 0),
        size_bytes: groups.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
        oldest_arrived_at: groups.map(({oldest_arrived_at}) => oldest_arrived_at).sort()[0] ?? null,
        groups: groups.map(({domain, reason, ...group}) => ({domain, reason, node_id: nodeId, ...group})),
      };
    },

    async get(queueId, {reach}) {
      const mail = await find(queueId, reach);
      if (!isHeld(mail)) throw unknownMail(nodeId, queueId);
      return toDetail(nodeId, mail);
    },

    async body(queueId, actor) {
      const mail = await find(queueId, actor.reach);
      if (!isHeld(mail)) throw unknownMail(nodeId, queueId);
      const {content} = await openHeldFile(spool, mail, 'internal');
      await withRoom(async () => database.write.transaction(async tx => audit(tx, actor, {action: 'body', queueId})));
      return {sizeBytes: content.sizeBytes, stream: content.open()};
    },
  };
};

/** The row of a spooled mail. */
export const indexEntry = ({symbols, ...facts}: HeldMailFacts, sizeBytes: number, sha256: string): NewHeldMail => ({
  ...facts,
  symbol_scores: symbols,
  size_bytes: sizeBytes,
  sha256,
});

const factsOf = (mail: ReceivedMail, {direction, domain}: Ownership, {score, symbols, reason}: Judgement): HeldMailFacts => ({
  queue_id: mail.queueId,
  arrived_at: mail.receivedAt.toISOString(),
  direction,
  domain: domain.name,
  domain_id: domain.id,
  sender: mail.envelope.sender,
  recipients: mail.envelope.recipients,
  is_utf8: mail.envelope.isUtf8,
  is_eight_bit: mail.envelope.isEightBit,
  subject: subjectOf(mail.headers),
  score,
  symbols,
  reason,
  client_ip: mail.client.ip,
  helo: mail.client.helo,
});

const toListEntry = (nodeId: string, facts: HeldMailFacts, sizeBytes: number): HeldMail => ({
  node_id: nodeId,
  queue_id: facts.queue_id,
  sender: facts.sender,
  recipients: facts.recipients,
  subject: facts.subject,
  score: facts.score,
  symbols: facts.symbols.map(({name}) => name),
  reason: facts.reason,
  size_bytes: sizeBytes,
  arrived_at: facts.arrived_at,
});

const isHeld = ({state}: StoredHeldMail): boolean => state === 'held' || state === 'releasing';

const toDetail = (nodeId: string, mail: StoredHeldMail): HeldMailDetail => ({
  node_id: nodeId,
  queue_id: mail.queue_id,
  sender: mail.sender,
  recipients: mail.recipients,
  subject: mail.subject,
  score: mail.score,
  symbols: mail.symbol_scores.map(({name}) => name),
  reason: mail.reason,
  size_bytes: mail.size_bytes,
  arrived_at: mail.arrived_at,
  domain: mail.domain,
  direction: mail.direction,
  symbol_scores: mail.symbol_scores,
  client_ip: mail.client_ip,
  helo: mail.helo,
});
