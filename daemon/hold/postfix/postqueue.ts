// Parser for the output of `postqueue -j` (postqueue(1), JSON OBJECT FORMAT): one object per line for each mail in a queue.
import type {Readable} from 'node:stream';
import {StringDecoder} from 'node:string_decoder';
import {z} from 'zod';
import {queueIdPattern} from '../../../shared/fields.ts';

const queuedMailSchema = z
  .object({
    queue_name: z.string(),
    queue_id: z.string().regex(queueIdPattern),
    arrival_time: z.int(),
    message_size: z.int().nonnegative(),
    sender: z.string(),
    recipients: z.array(z.object({address: z.string()})),
  })
  .transform(mail => ({
    queueName: mail.queue_name,
    queueId: mail.queue_id,
    /** Creation time of its queue file, in seconds since 1970. */
    queuedAt: mail.arrival_time,
    sizeBytes: mail.message_size,
    /** Empty for a bounce. */
    sender: mail.sender === 'MAILER-DAEMON' ? '' : mail.sender,
    recipients: mail.recipients.map(({address}) => address),
  }));
export type QueuedMail = z.output<typeof queuedMailSchema>;

/** Throws at a line that postqueue cannot have written: a partial list would make the other mails look released. */
export async function* queuedMails(stdout: Readable): AsyncGenerator<QueuedMail> {
  for await (const line of linesOf(stdout)) if (line !== '') yield queuedMailSchema.parse(JSON.parse(line));
}

/** Unlike node:readline it throws when its source is destroyed. */
async function* linesOf(source: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const lines = `${rest}${decoder.write(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest + decoder.end();
}
