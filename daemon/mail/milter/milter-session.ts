// One connection of a milter's peer: commands in, actions out. No sockets, no files, no waiting.
//
// O → ready → MAIL → RCPT … → DATA, header, body … → end of body: judge → judged → ready;   abort, HELO, quit: forget → ready
import {type CommandOf, type MilterCommand, MilterError, type MilterReply} from './milter-codec.ts';
import {createMilterEnvelope, type EnvelopeNeeds, type Macros, type Peer, peerOf} from './milter-envelope.ts';
import {type ContentCommand, createMilterMail, type JudgedMail, type MilterMail} from './milter-mail.ts';
import {type MilterOptions, negotiate} from './milter-options.ts';

export type SessionAction =
  /** All of them in one write. */
  | {kind: 'answer'; replies: MilterReply[]}
  /** These bytes are the next of the mail. */
  | {kind: 'keep'; bytes: Buffer}
  /** The mail is there in whole: `judged` is to be told what comes of it. */
  | {kind: 'judge'; mail: JudgedMail}
  /** Nobody waits for this mail any more; it may be judged just now. */
  | {kind: 'forget'}
  | {kind: 'close'};

export interface MilterSession {
  /** Throws MilterError when the peer does not keep to the protocol. */
  receive(command: MilterCommand): SessionAction[];
  /** The answer to the end of a mail. Nothing comes of it when that mail was forgotten meanwhile. */
  judged(mail: JudgedMail, replies: readonly MilterReply[]): SessionAction[];
  isJudging(mail: JudgedMail): boolean;
  /** From the moment that the client has begun to send it, until the answer to it. */
  readonly isMailUnderWay: boolean;
}

export const createMilterSession = (needs: EnvelopeNeeds): MilterSession => {
  let options: MilterOptions | undefined;
  let macros = new Map<string, Macros>();
  let client: {peer: Peer; helo: string; isSecure: boolean} | undefined;
  let mail: MilterMail | undefined;
  let judging: JudgedMail | undefined;

  const answer = ({kind}: MilterCommand, reply: MilterReply = {kind: 'continue'}): SessionAction[] =>
    options?.isAnswered(kind) ? [{kind: 'answer', replies: [reply]}] : [];

  const forget = (): SessionAction[] => {
    const isAnything = mail !== undefined || judging !== undefined;
    mail = undefined;
    judging = undefined;
    return isAnything ? [{kind: 'forget'}] : [];
  };

  /** They hold for the next command of their stage and for no other one. */
  const macrosFor = ({kind}: MilterCommand): Macros => {
    const letter = stageLetters[kind] ?? '';
    const found = macros.get(letter) ?? new Map();
    macros.delete(letter);
    return found;
  };

  const startMail = (command: CommandOf<'mail'>, agreed: MilterOptions): SessionAction[] => {
    if (!client) throw new MilterError('a mail before its client was named');
    const forgotten = forget();
    mail = createMilterMail(createMilterEnvelope(needs, client, {...command, macros: macrosFor(command)}), agreed);
    return [...forgotten, ...answer(command)];
  };

  const takeRecipient = (command: CommandOf<'rcpt'>): SessionAction[] => {
    if (!mail || mail.hasContent) throw new MilterError('a recipient of no mail');
    const refusal = mail.envelope.rcpt(command, macrosFor(command));
    return answer(command, refusal && {kind: 'reply', ...refusal});
  };

  const takeContent = (command: ContentCommand): SessionAction[] => {
    if (!mail) throw new MilterError('content of no mail');
    const {bytes, reply, complete} = mail.receive(command, macrosFor(command));
    if (command.kind === 'end-of-body') mail = undefined;
    judging = complete;
    return [
      ...bytes.map(part => ({kind: 'keep' as const, bytes: part})),
      ...(complete ? [{kind: 'judge' as const, mail: complete}] : []),
      ...(reply ? answer(command, reply) : []),
    ];
  };

  const converse = (command: Exclude<MilterCommand, CommandOf<'negotiate'>>, agreed: MilterOptions): SessionAction[] => {
    switch (command.kind) {
      case 'macros':
        if (stages.has(command.stage)) macros.set(command.stage, command.macros);
        return [];
      case 'connect':
        macrosFor(command);
        client = {peer: peerOf(command), helo: '', isSecure: false};
        return [...forget(), ...answer(command)];
      case 'helo':
        if (!client) throw new MilterError('a greeting before its client was named');
        client = {...client, helo: command.name, isSecure: Boolean(macrosFor(command).get('{tls_version}'))};
        return [...forget(), ...answer(command)];
      case 'mail':
        return startMail(command, agreed);
      case 'rcpt':
        return takeRecipient(command);
      case 'data':
      case 'header':
      case 'end-of-header':
      case 'body':
      case 'end-of-body':
        return takeContent(command);
      case 'unknown':
        macrosFor(command);
        return answer(command);
      case 'abort':
        macros = new Map();
        return forget();
      case 'quit-connection':
        macros = new Map();
        client = undefined;
        return forget();
      case 'quit':
        return [...forget(), {kind: 'close'}];
      default:
        return command satisfies never;
    }
  };

  return {
    receive(command) {
      if (command.kind === 'negotiate') {
        if (options) throw new MilterError('a second negotiation');
        options = negotiate(command);
        return [{kind: 'answer', replies: [options.reply]}];
      }
      if (!options) throw new MilterError('a command before the negotiation');
      if (judging && !mayInterrupt.has(command.kind)) throw new MilterError('a command before the answer to the last one');
      return converse(command, options);
    },
    judged(of, replies) {
      if (judging !== of) return [];
      judging = undefined;
      return [{kind: 'answer', replies: options?.hasLeadingSpace ? replies.map(withLeadingSpace) : [...replies]}];
    },
    isJudging: of => judging === of,
    get isMailUnderWay() {
      return judging !== undefined || mail?.hasContent === true;
    },
  };
};

/** Commands that macros go with, by their letters. */
const stageLetters: Partial<Record<MilterCommand['kind'], string>> = {
  connect: 'C',
  helo: 'H',
  mail: 'M',
  rcpt: 'R',
  data: 'T',
  header: 'L',
  'end-of-header': 'N',
  body: 'B',
  'end-of-body': 'E',
  unknown: 'U',
};
const stages = new Set(Object.values(stageLetters));

/** Postfix waits for an answer; but the part of it that does may die, and the one that has its connection goes on. */
const mayInterrupt: ReadonlySet<MilterCommand['kind']> = new Set(['macros', 'abort', 'quit', 'quit-connection']);

/** Where the peer does not put it there itself. */
const withLeadingSpace = (reply: MilterReply): MilterReply =>
  reply.kind === 'add-header' || reply.kind === 'insert-header' ? {...reply, value: ` ${reply.value}`} : reply;
