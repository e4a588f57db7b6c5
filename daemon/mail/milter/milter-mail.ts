// Content of one mail, rebuilt as bytes from milter commands.

import {PassThrough} from 'node:stream';
import {createHeaderReader} from '../../services/intake/header-block.ts';
import type {Client, Envelope, HeaderField, Judgement, Ownership} from '../../services/intake/mail.ts';
import {drained} from '../local-listener.ts';
import type {MessageIntake, Taken} from '../message-intake.ts';
import {foldWords} from '../trace-header.ts';
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

export type MilterMail = ReturnType<typeof createMilterMail>;

export const createMilterMail = (envelope: MilterEnvelope, {hasLeadingSpace}: MilterOptions) => {
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
    /** False while only envelope commands have arrived. */
    get hasContent(): boolean {
      return stage !== 'envelope';
    },
    /** Throws MilterError for a command at the wrong stage. */
    receive(command: ContentCommand, macros: Macros): ContentStep {
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

export type MilterContent = ReturnType<typeof startMilterContent>;

const bufferBytes = 256 * 1024;

export const startMilterContent = (messages: MessageIntake, name: string) => {
  const stream = new PassThrough({highWaterMark: bufferBytes});
  // Rejects only when the stream breaks off.
  const taking = messages.take(stream, name).catch(() => undefined);

  return {
    /** Resolves when the buffer has space for more. */
    async push(bytes: Buffer): Promise<void> {
      if (!stream.destroyed && !stream.write(bytes)) await drained(stream);
    },
    /** Ends the content. The caller has to call `discard` afterwards. Undefined when the content was discarded before. */
    async end(): Promise<Taken | undefined> {
      stream.end();
      return taking;
    },
    /** Frees everything, at any time. A second call has no effect. */
    async discard(): Promise<void> {
      stream.destroy();
      const taken = await taking;
      if (taken?.kind === 'taken') await taken.content.discard();
    },
  };
};

const scoreField = 'X-Spam-Score';
const symbolsField = 'X-Spam-Symbols';
const ownFields = new Set([scoreField, symbolsField].map(name => name.toLowerCase()));

/** Removes fields that only this node may set, such as a score, and those that claim to be written by this cluster. */
export const removeClaims = (headers: readonly HeaderField[], isClaim: (field: HeaderField) => boolean): MilterReply[] => {
  const counts = new Map<string, number>();
  const removals = headers.flatMap(field => {
    const name = field.name.toLowerCase();
    const index = (counts.get(name) ?? 0) + 1;
    counts.set(name, index);
    const isRemoved = ownFields.has(name) || isClaim(field);
    return isRemoved ? [{kind: 'change-header' as const, index, name: field.name, value: ''}] : [];
  });
  // From the last to the first, as Postfix renumbers the fields after each removal.
  return removals.toReversed();
};

/** `X-Spam-Score: 8.50` and the names of the matching rules, strongest first, as many as fit. */
export const addScore = ({score, symbols}: Judgement): MilterReply[] => {
  const names = symbols
    .toSorted((one, other) => other.score - one.score)
    .map(({name}) => name.replace(/[^A-Za-z0-9_.-]/g, '?').slice(0, maxNameChars))
    .slice(0, maxSymbols);
  return [
    {kind: 'add-header', name: scoreField, value: twoDigits(score)},
    ...(names.length > 0 ? [{kind: 'add-header' as const, name: symbolsField, value: foldList(names)}] : []),
  ];
};

/** A score that rounds to zero has no sign. */
const twoDigits = (score: number): string => (Math.round(score * 100) / 100 || 0).toFixed(2);

const maxNameChars = 60;
const maxSymbols = 100;

/** The value of the field, which is folded with its name. The first of the names always fits beside it. */
const foldList = (names: readonly string[]): string => {
  const label = `${symbolsField}:`;
  return foldWords([label, ...names.join(', ').split(' ')]).slice(`${label} `.length);
};

/** Inserts header fields, each with its line end, before all others. */
export const insertInFront = (fields: Buffer): MilterReply[] => insertAt(0, fields);

/** The same below the trace header of Postfix, which is the first field. */
export const insertBelowTrace = (fields: Buffer): MilterReply[] => insertAt(1, fields);

const insertAt = (index: number, fields: Buffer): MilterReply[] => {
  const reader = createHeaderReader();
  reader.push(fields);
  return reader
    .fields()
    .map(({name, value}) => ({kind: 'insert-header' as const, index, name, value: value.trim()}))
    .toReversed();
};
