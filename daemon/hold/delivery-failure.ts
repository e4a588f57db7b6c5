// What a release that failed says: to whoever asked for it, and in the audit log.

import {Fault} from '../../shared/fault.ts';
import type {RecipientResult} from '../services/intake/mail-ports.ts';

/** One line per recipient, with what its server said. */
export const deliveryFailed = (results: readonly RecipientResult[]): Fault => {
  const delivered = results.filter(({outcome}) => outcome === 'delivered').length;
  const detail =
    delivered > 0
      ? `delivered to ${delivered} of ${results.length} recipients; the mail is still held for the others`
      : 'no recipient could be delivered; the mail is still held';
  return new Fault('delivery_failed', detail, {
    fields: results.map(({recipient, reply}) => ({path: recipient, detail: `${reply.code} ${reply.text}`.trim()})),
  });
};

/** The answer names them all; in the audit log a mail to hundreds must not take a page. */
const maxAuditedReplies = 3;

export const failureToAudit = (error: unknown): {result: string; detail: string} => {
  if (!(error instanceof Fault)) return {result: 'internal', detail: ''};
  const {code, detail, details} = error;
  const refusals = (details.fields ?? []).filter(({detail: reply}) => !reply.startsWith('2'));
  const replies = refusals.slice(0, maxAuditedReplies).map(({path, detail: reply}) => `${path}: ${reply}`);
  return {result: code, detail: [detail, ...replies].join('; ')};
};
