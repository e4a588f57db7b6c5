// Small schemas that several records share.
import {z} from 'zod';
import type {FieldFault} from './fault.ts';
import {isWellFormed, labelPattern} from './field-rules.ts';

/** Cluster-wide record id: node number × 10^9 + that node's sequence, below 2^53. */
export const id = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** ISO 8601 in UTC, to the millisecond. */
export const timestamp = z.iso
  .datetime({error: 'must be an ISO 8601 timestamp in UTC such as 2027-01-31T00:00:00Z'})
  .meta({example: '2026-03-01T09:30:00.000Z'});

/** A moment with any offset. After the year 9999 times can no longer be compared as text. */
export const moment = z.iso
  .datetime({offset: true, abort: true, error: 'must be an ISO 8601 timestamp such as 2027-01-31T00:00:00Z'})
  .refine(text => Math.abs(new Date(text).getUTCFullYear() - 5000) < 5000, 'must lie in the years 1 to 9999');

export const nodeIdPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
export const nodeId = z.string().regex(nodeIdPattern, 'must be 1 to 63 letters, digits, dots, underscores or hyphens');

export const queueIdPattern = /^[0-9A-Za-z]{6,64}$/;
export const queueId = z.string().regex(queueIdPattern, 'must be 6 to 64 letters and digits');

/** PostgreSQL has no text with this character. */
export const hasNul = (value: unknown): boolean => typeof value === 'string' && value.includes('\0');

/** Text a person typed as a label. */
export const label = (max: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    .regex(labelPattern, 'must not contain control characters')
    .refine(isWellFormed, 'must not contain half a character');

/** For the `when` of a rule between fields, which is checked even if single fields are wrong. */
export const isObject = ({value}: {value: unknown}): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Zod's issues as the wire's `fields`: one entry per wrong or unknown member. */
export const fieldFaults = (error: z.ZodError): FieldFault[] => error.issues.flatMap(issueFaults);

/** The `params` of a rule between two fields. */
export interface RuleBetween {
  /** The one that is not in the path of the rule. */
  other: string;
}

/** A fault that does not leave the program. */
export interface LocalFault extends FieldFault, Partial<RuleBetween> {}

/** The same faults, with the other field of a rule between two. */
export const localFaults = (error: z.ZodError): LocalFault[] =>
  error.issues.flatMap(issue => {
    const {other} = ((issue.code === 'custom' && issue.params) || {}) as Partial<RuleBetween>;
    return issueFaults(issue).map(fault => (other === undefined ? fault : {...fault, other}));
  });

const issueFaults = (issue: z.core.$ZodIssue): FieldFault[] => {
  const path = issue.path.map(String).join('.');
  if (issue.code !== 'unrecognized_keys') return [{path, detail: detailOf(issue)}];
  return issue.keys.map(key => ({path: path ? `${path}.${key}` : key, detail: 'is not a known field; remove it'}));
};

/** Messages that say what to send, in place of zod's, which say what it expected. */
const detailOf = (issue: z.core.$ZodIssue): string => {
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is required' : `must be ${nounOf[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return `is not valid: ${issue.message}`;
  }
};

const nounOf: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'a JSON object',
};
