// Facts of a held mail as they go from the received mail to its row, to an entry of the list, and to its details.
import type {HeldMail, HeldMailDetail} from '../../shared/held-mail.ts';
import {authorAddresses} from '../services/intake/author-field.ts';
import {subjectOf} from '../services/intake/header-block.ts';
import type {HeldMailFacts, Judgement, Ownership, ReceivedMail} from '../services/intake/mail.ts';
import {type Arrival, type NewHeldMail, type StoredHeldMail, shownScore} from '../services/quarantine/stored-mail.ts';

export const factsOf = (
  mail: ReceivedMail,
  {direction, domain}: Ownership,
  {score, symbols, reason, verified}: Judgement,
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
  from: authorAddresses(mail.headers),
  subject: subjectOf(mail.headers),
  score,
  symbols,
  reason,
  client_ip: mail.client.ip,
  helo: mail.client.helo,
  authentication: verified?.results ?? null,
});

/** The row of a spooled mail. `arrival`: undefined for mail that was found. Names each member once, see `toRow`. */
export const spoolEntry = (facts: HeldMailFacts, {sizeBytes, sha256}: Spooled, arrival?: Arrival): NewHeldMail => ({
  queue_id: facts.queue_id,
  arrived_at: facts.arrived_at,
  direction: facts.direction,
  domain: facts.domain,
  domain_id: facts.domain_id,
  sender: facts.sender,
  recipients: facts.recipients,
  is_utf8: facts.is_utf8,
  is_eight_bit: facts.is_eight_bit,
  // A file of an earlier version has neither.
  from: facts.from ?? null,
  authentication: facts.authentication ?? null,
  subject: facts.subject,
  score: facts.score,
  symbol_scores: facts.symbols,
  reason: facts.reason,
  client_ip: facts.client_ip,
  helo: facts.helo,
  size_bytes: sizeBytes,
  keeper: 'spool',
  queued_at: null,
  sha256,
  arrival,
});

interface Spooled {
  sizeBytes: number;
  sha256: string;
}

/** When it arrives nobody has asked for it. */
export const toListEntry = (nodeId: string, entry: NewHeldMail): HeldMail => ({
  node_id: nodeId,
  queue_id: entry.queue_id,
  sender: entry.sender,
  from: entry.from,
  recipients: entry.recipients,
  subject: entry.subject,
  score: shownScore(entry.score),
  symbols: entry.symbol_scores.map(({name}) => name),
  reason: entry.reason,
  size_bytes: entry.size_bytes,
  arrived_at: entry.arrived_at,
  release_requested: false,
});

export const toDetail = (nodeId: string, mail: StoredHeldMail): HeldMailDetail => ({
  ...toListEntry(nodeId, mail),
  domain: mail.domain,
  direction: mail.direction,
  symbol_scores: mail.symbol_scores,
  client_ip: mail.client_ip,
  helo: mail.helo,
  authentication: mail.authentication,
});
