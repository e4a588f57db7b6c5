// Content of one mail, rebuilt as bytes from milter commands.
import type {Client, Envelope, Ownership} from '../../services/intake/mail.ts';
import {type CommandOf, MilterError, type MilterReply} from './milter-codec.ts';
import type {Macros, MilterEnvelope} from './milter-envelope.ts';
import type {MilterOptions} from './milter-options.ts';

export interface JudgedMail {
  /** The queue ID in Postfix; undefined when Postfix does not send it. */
  queueId: string | undefined;
  client: Client;
  envelope: Envelope;
  ownership: Ownership;
}

export type ContentCommand = CommandOf<'data' | 'header' | 'end-of-header' | 'body' | 'end-of-body'>;

interface ContentStep {
  /** Bytes to append to the mail. */
  bytes: Buffer[];
  /** Sent if the peer waits for an answer to this command. */
  reply?: MilterReply;
  /** The complete mail; its verdict is the answer to this command. */
  complete?: JudgedMail;
}

export interface MilterMail {
  readonly envelope: MilterEnvelope;
  /** False while only envelope commands have arrived. */
  readonly hasContent: boolean;
  /** Throws MilterError for a command at the wrong stage. */
  receive(command: ContentCommand, macros: Macros): ContentStep;
}

export const createMilterMail = (envelope: MilterEnvelope, {hasLeadingSpace}: MilterOptions): MilterMail => {
  let stage: 'envelope' | 'header' | 'body' = 'envelope';
  let queueId: string | undefined;

  const bodyBytes = (chunk: Buffer): Buffer[] => {
    const blankLine = stage === 'body' ? [] : [crlf];
    stage = 'body';
    return chunk.length > 0 ? [...blankLine, chunk] : blankLine;
  };

  const step = (command: ContentCommand, ownership: Ownership): ContentStep => {
    switch (command.kind) {
      case 'data':
        stage = 'header';
        return goOn([]);
      case 'header':
        if (stage === 'body') throw new MilterError('a header field after the body');
        stage = 'header';
        return goOn([headerBytes(command, hasLeadingSpace)]);
      case 'end-of-header':
        return goOn(bodyBytes(none));
      case 'body':
        return goOn(bodyBytes(command.chunk));
      case 'end-of-body':
        return {
          bytes: bodyBytes(command.chunk),
          complete: {queueId, client: envelope.client, envelope: envelope.facts(), ownership},
        };
      default:
        return command satisfies never;
    }
  };

  return {
    envelope,
    get hasContent() {
      return stage !== 'envelope';
    },
    receive(command, macros) {
      const owner = envelope.owner();
      if (owner === undefined) throw new MilterError('content of a mail without a recipient');
      // Foreign mail is accepted with the first possible answer, mostly before its content is sent.
      if (owner === 'foreign') return {bytes: [], reply: {kind: 'accept'}};
      queueId = macros.get('i') ?? queueId;
      return step(command, owner);
    },
  };
};

const crlf = Buffer.from('\r\n');
const none = Buffer.alloc(0);

const goOn = (bytes: Buffer[]): ContentStep => ({bytes, reply: {kind: 'continue'}});

const headerBytes = ({name, value}: CommandOf<'header'>, hasLeadingSpace: boolean): Buffer =>
  Buffer.from(`${name}:${hasLeadingSpace ? '' : ' '}${value.replace(/\r?\n/g, '\r\n')}\r\n`, 'latin1');
