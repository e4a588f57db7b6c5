// Held mails for measuring lists: put straight into the database of a running node, as the bytes play no part in a list.
import type {Database} from '../../daemon/store/database.ts';
import {insertHeldMails, type NewHeldMail} from '../../daemon/store/held-mail.ts';
import {reasons} from '../../shared/reason.ts';

export const heldMail = (at: number): NewHeldMail => ({
  queue_id: `bench${String(at).padStart(9, '0')}`,
  arrived_at: new Date(Date.now() - at * 500).toISOString(),
  direction: 'inbound',
  domain: `d${at % 50}.example`,
  domain_id: at % 50,
  sender: `news${at}@s${at % 200}.example`,
  recipients: [`user${at % 1000}@d${at % 50}.example`],
  subject: `Offer number ${at} for you and everybody you know`,
  score: 6 + (at % 90) / 10,
  symbol_scores: [
    {name: 'RBL_EXAMPLE', score: 2.5},
    {name: 'HTML_SHORT_LINK_IMG_1', score: 2},
    {name: 'MISSING_MID', score: 1.5},
  ],
  reason: reasons[at % reasons.length] ?? 'spam',
  size_bytes: 12_000,
  client_ip: '192.0.2.1',
  helo: 'mail.example',
  is_utf8: false,
  is_eight_bit: false,
  keeper: 'spool',
  queued_at: null,
  sha256: '0'.repeat(64),
});

/** Mails number `from` to `to`, of which this database gets every `share`-th. */
export const fillHeld = async (database: Database, from: number, to: number, {share, of} = {share: 0, of: 1}): Promise<void> => {
  const numbers = Array.from({length: to - from}, (_, index) => from + index).filter(at => at % of === share);
  for (let at = 0; at < numbers.length; at += 1000)
    await database.write.transaction(async tx => insertHeldMails(tx, numbers.slice(at, at + 1000).map(heldMail)));
};
