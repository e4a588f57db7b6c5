// What `postqueue -j` says (postqueue(1), JSON OBJECT FORMAT): one object a line for each mail in a queue.
import type {Readable} from 'node:stream';
import {StringDecoder} from 'node:string_decoder';
import {z} from 'zod';
import {queueIdPattern} from '../../../shared/fields.ts';

const queuedMailSchema = z.object({
  queue_name: z.string(),
  queue_id: z.string().regex(queueIdPattern),
  /** Seconds since 1970 at which its queue file was made. */
  arrival_time: z.int(),
  message_size: z.int().nonnegative(),
  sender: z.string(),
  recipients: z.array(z.object({address: z.string()})),
});

export interface QueuedMail {
  queueName: string;
  queueId: string;
  /** Seconds since 1970 at which its queue file was made. */
  queuedAt: number;
  sizeBytes: number;
  /** Empty for a bounce. */
  sender: string;
  recipients: string[];
}

/** Ends early, with an error, at a line that is none of postqueue's: half a list would make the rest look released. */
export async function* queuedMails(stdout: Readable): AsyncGenerator<QueuedMail> {
  for await (const line of linesOf(stdout)) {
    if (line === '') continue;
    const mail = queuedMailSchema.parse(JSON.parse(line));
    yield {
      queueName: mail.queue_name,
      queueId: mail.queue_id,
      queuedAt: mail.arrival_time,
      sizeBytes: mail.message_size,
      sender: mail.sender === 'MAILER-DAEMON' ? '' : mail.sender,
      recipients: mail.recipients.map(({address}) => address),
    };
  }
}

/** Unlike node:readline it ends, with an error, when what it reads is broken off. */
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
