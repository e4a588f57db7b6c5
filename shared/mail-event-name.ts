// Names of what happens to mail, separate from the schema of an entry, which mfctl does not load.

/**
 * `rejected`: because of the score or a filter. `refused`: because of form, size or recipient, also by the backend. `deferred`: the sender
 * has to try again. `lost`: the mail is not where it was held, without an action of mfd. `sent`, `bounced` and `postponed` are from the log of
 * Postfix. `release_requested`: a recipient has asked an administrator for held mail.
 */
export const mailEvents = [
  'relayed',
  'held',
  'rejected',
  'refused',
  'deferred',
  'report',
  'released',
  'discarded',
  'expired',
  'lost',
  'sent',
  'bounced',
  'postponed',
  'release_requested',
] as const;
export type MailEventName = (typeof mailEvents)[number];
