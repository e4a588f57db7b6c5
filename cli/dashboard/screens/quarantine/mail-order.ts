// Orders of held mail. The API lists by time; any other order needs all mails.
import {ascending} from '../../../../shared/ascending.ts';
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {mailId} from '../../../quarantine/mail-id.ts';

export const mailOrders = ['newest', 'oldest', 'score', 'size', 'sender', 'subject'] as const;
export type MailOrder = (typeof mailOrders)[number];

/** At most this many are sorted here: the newest. */
export const maxSorted = 20_000;

export const orderLabels: Record<MailOrder, string> = {
  newest: 'newest first',
  oldest: 'oldest first',
  score: 'highest score first',
  size: 'largest first',
  sender: 'by sender',
  subject: 'by subject',
};

export const isByTime = (order: MailOrder): boolean => order === 'newest' || order === 'oldest';

/** The sort key of a mail; the newer of two equal ones comes first. */
const keyOf: Record<MailOrder, (mail: HeldMail) => string | number> = {
  newest: () => 0,
  oldest: () => 0,
  score: mail => -mail.score,
  size: mail => -mail.size_bytes,
  sender: mail => mail.sender.toLowerCase(),
  // Replies and forwards are sorted beside the original.
  subject: mail => mail.subject.toLowerCase().replace(/^(\s*(re|fwd?|aw|wg)\s*:)+\s*/, ''),
};

/** Sorts the mails and removes duplicates. */
export const sortMails = (mails: readonly HeldMail[], order: MailOrder): HeldMail[] => {
  const distinct = new Map(mails.map(mail => [mailId(mail), mail]));
  const keyed = [...distinct].map(([id, mail]) => ({id, mail, key: keyOf[order](mail)}));
  keyed.sort((a, b) => ascending(a.key, b.key) || ascending(b.mail.arrived_at, a.mail.arrived_at) || ascending(a.id, b.id));
  return keyed.map(({mail}) => mail);
};
