// What happened to mail: entries of the event log, as the trace shows them.
import {z} from 'zod';
import {nodeId, queueId, timestamp} from './fields.ts';
import {mailAuthenticationSchema} from './mail-authentication.ts';
import {mailEvents} from './mail-event-name.ts';
import {reasons} from './reason.ts';

/** Of a subject. Searches have at most as many. */
export const maxSubjectChars = 200;

const text = (description: string) => z.string().nullable().meta({description});

export const mailEventSchema = z
  .strictObject({
    id: z.string().max(200).meta({description: 'Unique over all nodes; as `cursor` it continues a list after this entry'}),
    at: timestamp,
    node_id: nodeId.meta({description: 'The node that has the mail or had it'}),
    queue_id: queueId.nullable().meta({description: 'Null for mail that was refused before its content'}),
    event: z.enum(mailEvents),
    direction: z.enum(['inbound', 'outbound']).nullable(),
    domain: text('The domain that the mail belongs to; null when it is none of the cluster'),
    sender: z.string().meta({description: 'Envelope sender; empty for a bounce'}),
    recipients: z.array(z.string()).meta({description: 'The first 100, or fewer when they are long; see `recipient_count`'}),
    recipient_count: z.int().min(0).max(1_000_000),
    from: z.array(z.string()).nullable().meta({description: 'Addresses in the header `From`; null when it was not read'}),
    subject: text(
      `Decoded (RFC 2047), the first ${maxSubjectChars} characters, in which subjects are sought; hostile text, show it with care. Null when it was not read, or is not kept`,
    ),
    message_id: text('The header field `Message-ID`, without its brackets'),
    client: z
      .strictObject({
        ip: z.string(),
        name: text('Host name from DNS that resolves back to the address'),
        helo: z.string(),
        tls: z.boolean().nullable().meta({description: 'Whether the session was encrypted; null when that is not known'}),
      })
      .nullable(),
    size_bytes: z.int().nullable(),
    score: z.number().nullable(),
    reason: z.enum(reasons).nullable(),
    symbols: z.array(z.string()).meta({description: 'All for `held`, else the five with the most weight'}),
    authentication: mailAuthenticationSchema.nullable(),
    reply: text('What was answered: to the client, or by `server`'),
    server: text('HOST:PORT of the server that answered; NAME[ADDRESS]:PORT where the log of Postfix says it'),
    took_ms: z.int().nullable().meta({
      description:
        'From the end of the content to the answer, in milliseconds; of a server of Postfix, from the connection to it',
    }),
    key_id: z.int().nullable().meta({description: 'The key that acted; 0 for a recipient by the link of a digest'}),
    key_name: text('Also null after the key has been deleted'),
    detail: z.string(),
    recipients_left: z.int().nullable().meta({
      description:
        'Of `released` and `discarded` for some of the recipients: for how many others the mail is still held; null when the mail ended with them',
    }),
  })
  .meta({id: 'MailEvent'});
export type MailEvent = z.infer<typeof mailEventSchema>;
