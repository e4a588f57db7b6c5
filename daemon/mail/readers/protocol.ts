// Messages between a node and its readers. A reader parses what strangers wrote, so its messages are checked like any other claim.
import {z} from 'zod';
import {mailAuthenticationSchema} from '../../../shared/mail-authentication.ts';
import type {ReceivedReport, Unreadable} from '../../services/dmarc/received-report.ts';
import {type RecordType, recordTypes} from '../lookup.ts';
import type {SpfQuestion} from './check-sender.ts';
import type {SignatureCheck} from './check-signatures.ts';
import type {SigningKey} from './sign-mail.ts';

/** The tasks of a reader. All but `spf` are followed by the bytes of a mail. */
export type Task =
  | {kind: 'spf'; question: SpfQuestion}
  | {kind: 'signatures'}
  | {kind: 'sign'; keys: readonly SigningKey[]}
  | {kind: 'report'; maxUnpackedBytes: number};

/** An answer of DNS that the reader need not ask for. */
export interface Known {
  name: string;
  type: RecordType;
  records: unknown[];
}

export type ToReader =
  | {kind: 'task'; job: number; task: Task; known: readonly Known[]}
  /** With bytes of a task's mail. */
  | {kind: 'mail'; job: number}
  | {kind: 'end'; job: number}
  | {kind: 'records'; question: number; records: unknown[]}
  | {kind: 'failure'; question: number; code: string};

const job = z.int().nonnegative();
const {spf, dkim, arc} = mailAuthenticationSchema.shape;
const count = z.int().nonnegative();
const name = z.string().max(253);

/** One report must fit into memory: a large receiver names some ten thousand addresses. */
export const maxSources = 150_000;

const reportedSource = z.object({
  header_from: name,
  source_ip: z.string().max(500),
  count,
  passed: count,
  spf_passed: count,
  spf_aligned: count,
  dkim_passed: count,
  dkim_aligned: count,
});

const received = z.object({
  report_id: z.string().max(500),
  policy_domain: name,
  begin: z.number(),
  end: z.number(),
  bad_rows: count,
  sources: z.array(reportedSource),
}) satisfies z.ZodType<ReceivedReport>;

/** The result of each kind of task. */
export const results = {
  spf: spf.shape.result,
  signatures: z.object({
    dkim: z.array(dkim.element.extend({domain: name, selector: name})).max(10),
    arc,
  }) satisfies z.ZodType<SignatureCheck>,
  /** Header fields, each with its line end. */
  sign: z.string(),
  report: z.union([received, z.object({unreadable: z.string().max(500)})]) satisfies z.ZodType<ReceivedReport | Unreadable>,
};
export type Results = {[kind in Task['kind']]: z.infer<(typeof results)[kind]>};

export const fromReader = z.discriminatedUnion('kind', [
  /** The first message. */
  z.object({kind: z.literal('ready')}),
  z.object({
    kind: z.literal('question'),
    job,
    question: z.int().nonnegative(),
    name: z.string().max(1000),
    type: z.enum(recordTypes),
  }),
  /** Sources of a report, which may be many. They come before the result, which has none. */
  z.object({kind: z.literal('sources'), job, sources: z.array(reportedSource)}),
  z.object({kind: z.literal('result'), job, result: z.unknown()}),
  z.object({kind: z.literal('error'), job, detail: z.string().max(500)}),
]);
export type FromReader = z.infer<typeof fromReader>;

export const maxFrameBytes = 4 * 1024 * 1024;
