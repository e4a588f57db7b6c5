// Answers of a peer, translated to Faults.

import type {IncomingHttpHeaders, IncomingMessage} from 'node:http';
import {z} from 'zod';
import {Fault, type FaultCode, statusOfCode} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/access/actor.ts';

const maxAnswerBytes = 64 * 1024 * 1024;

/** The members of an envelope that are read. A peer may send anything, such as `null`; other members are ignored. */
const envelopeSchema = z.object({
  data: z.unknown(),
  error: z
    .object({
      code: z.string(),
      detail: z.string(),
      fields: z.array(z.object({path: z.string(), detail: z.string()})).optional(),
      required_scopes: z.array(z.string()).optional(),
    })
    .nullable(),
});
type PeerEnvelope = z.output<typeof envelopeSchema>;

/** Rejects with `outcome_unknown` unless the whole answer arrives before the deadline. */
export const readBytes = async (peer: NodeIdentity, response: IncomingMessage, deadlineMs: number): Promise<Buffer> => {
  const deadline = setTimeout(() => response.destroy(new Error('the answer took too long')), Math.max(1, deadlineMs));
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxAnswerBytes) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw unanswered(peer, error);
  } finally {
    clearTimeout(deadline);
  }
};

/** Throws `outcome_unknown` for anything but an envelope. */
export const envelopeIn = (peer: NodeIdentity, bytes: Buffer): PeerEnvelope => {
  try {
    return envelopeSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (error) {
    throw unanswered(peer, error);
  }
};

/** The Fault of a refusal. `internal` and unknown codes become `outcome_unknown`. */
export const faultFrom = (
  peer: NodeIdentity,
  error: NonNullable<PeerEnvelope['error']>,
  {'retry-after': retryAfter}: IncomingHttpHeaders,
): Fault => {
  const {code, detail, fields} = error;
  if (code === 'internal' || !Object.hasOwn(statusOfCode, code)) return unanswered(peer, new Error(`${code}: ${detail}`));
  return new Fault(code as FaultCode, detail, {
    ...(fields && {fields}),
    ...(error.required_scopes && {requiredScopes: error.required_scopes}),
    ...((code === 'unavailable' || code === 'node_unreachable') && {retryAfterSeconds: wholeSeconds(retryAfter) ?? 5}),
  });
};

/** Ignores Retry-After values of 1000 s or more, which concern the two nodes only. */
const wholeSeconds = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,3}$/.test(text) ? Number(text) : undefined;

export const unreachable = ({nodeId}: NodeIdentity, why: string, cause?: unknown): Fault =>
  new Fault('node_unreachable', `node ${nodeId} cannot be reached (${why}); nothing was done, try again later`, {
    cause,
    retryAfterSeconds: 5,
  });

export const unanswered = ({nodeId}: NodeIdentity, cause: unknown): Fault =>
  new Fault('outcome_unknown', `node ${nodeId} was asked and did not answer; repeating the request is safe`, {cause});
