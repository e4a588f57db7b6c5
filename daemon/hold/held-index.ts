// Index of the mail held on this node, read from the database; independent of the hold backend.
import type {HeldMail, HeldMailDetail} from '../../shared/held-mail.ts';
import {subjectOf} from '../services/intake/header-block.ts';
import type {HeldMailFacts, Judgement, Ownership, ReceivedMail} from '../services/intake/mail.ts';
import type {HeldQuery} from '../services/ports.ts';
import {type HoldQueue, isHeld, type NewHeldMail, type StoredHeldMail, shownScore} from '../services/quarantine/stored-mail.ts';
import type {HoldActions} from './hold-actions.ts';
import {unknownMail} from './hold-writes.ts';

type HeldIndex = Pick<HoldQueue, 'list' | 'samples' | 'positionOf' | 'summary' | 'get'>;

interface Needs {
  nodeId: string;
  query: HeldQuery;
  find: HoldActions['find'];
}

export const createHeldIndex = ({nodeId, query, find}: Needs): HeldIndex => {
  const isHere = (node: string | undefined) => node === undefined || node === nodeId;

  return {
    list: async (filter, page, {reach}) => (isHere(filter.node) ? query.list(filter, reach, page) : {mails: [], total: 0}),

    samples: async (filter, steps, {reach}) =>
      isHere(filter.node) ? query.samples(filter, reach, steps) : {marks: [], total: 0},

    positionOf: async (filter, cursor, {reach}) => (isHere(filter.node) ? query.positionOf(filter, reach, cursor) : 0),

    async summary(filter, {reach}) {
      const groups = isHere(filter.node) ? await query.groups(filter, reach) : [];
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
  };
};

const toDetail = (nodeId: string, mail: StoredHeldMail): HeldMailDetail => ({
  ...toListEntry(nodeId, mail),
  domain: mail.domain,
  direction: mail.direction,
  symbol_scores: mail.symbol_scores,
  client_ip: mail.client_ip,
  helo: mail.helo,
});

export const factsOf = (
  mail: ReceivedMail,
  {direction, domain}: Ownership,
  {score, symbols, reason}: Judgement,
): HeldMailFacts => ({
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

/** The row of a spooled mail. */
export const spoolEntry = ({symbols, ...facts}: HeldMailFacts, sizeBytes: number, sha256: string): NewHeldMail => ({
  ...facts,
  symbol_scores: symbols,
  size_bytes: sizeBytes,
  keeper: 'spool',
  queued_at: null,
  sha256,
});

export const toListEntry = (nodeId: string, entry: NewHeldMail): HeldMail => ({
  node_id: nodeId,
  queue_id: entry.queue_id,
  sender: entry.sender,
  recipients: entry.recipients,
  subject: entry.subject,
  score: shownScore(entry.score),
  symbols: entry.symbol_scores.map(({name}) => name),
  reason: entry.reason,
  size_bytes: entry.size_bytes,
  arrived_at: entry.arrived_at,
});
