// Text of a failed release, for the caller and for the audit log.

import {Fault} from '../../shared/fault.ts';
import type {RecipientResult} from '../services/intake/mail-ports.ts';

/** One line per recipient, with the reply of its server. */
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

/** The answer contains all replies; the audit entry of a mail to hundreds of recipients must stay short. */
const maxAuditedReplies = 3;

export const failureToAudit = (error: unknown): {result: string; detail: string} => {
  if (!(error instanceof Fault)) return {result: 'internal', detail: ''};
  const {code, detail, details} = error;
  const refusals = (details.fields ?? []).filter(({detail: reply}) => !reply.startsWith('2'));
  const replies = refusals.slice(0, maxAuditedReplies).map(({path, detail: reply}) => `${path}: ${reply}`);
  return {result: code, detail: [detail, ...replies].join('; ')};
};
