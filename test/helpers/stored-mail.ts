import type {NewHeldMail, RecipientAct} from '../../daemon/services/quarantine/stored-mail.ts';

/** A row of the hold queue for tests of the store: fields that a test does not give play no part in it. */
export const storedMail = (
  given: Pick<NewHeldMail, 'queue_id' | 'arrived_at' | 'subject' | 'score'> & Partial<NewHeldMail>,
): NewHeldMail => ({
  direction: 'inbound',
  domain: 'one.test',
  domain_id: 1,
  sender: 'sender@from.test',
  from: ['author@from.test'],
  recipients: ['a@one.test'],
  symbol_scores: [],
  reason: 'spam',
  size_bytes: 100,
  is_utf8: false,
  is_eight_bit: false,
  client_ip: '192.0.2.1',
  helo: 'x',
  authentication: null,
  keeper: 'spool',
  queued_at: null,
  sha256: '',
  ...given,
});

/** As after a release for these recipients. */
export const releasedFor = (...addresses: string[]): RecipientAct[] =>
  addresses.map(address => ({address, state: 'released', acted_at: '2026-03-02T00:00:00.000Z', acted_by_key_id: 5}));

/** Subjects that are difficult for a search. */
export const oddSubjects = [
  'Überweisung 100% sicher',
  'a_b "quoted" \\ text',
  'INVOICE 4711',
  'Счёт-фактура',
  '特別なお知らせ',
  'x',
  '',
];
