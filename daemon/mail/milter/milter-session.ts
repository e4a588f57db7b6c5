// State of one milter connection: commands in, actions out. No sockets, no files, no waiting.
//
// O → ready → MAIL → RCPT … → DATA, header, body … → end of body: judge → judged → ready;   abort, HELO, quit: forget → ready
import {type CommandOf, type MilterCommand, MilterError, type MilterReply} from './milter-codec.ts';
import {createMilterEnvelope, type EnvelopeNeeds, type Macros, type Peer, peerOf} from './milter-envelope.ts';
import {type ContentCommand, createMilterMail, type JudgedMail, type MilterMail} from './milter-mail.ts';
import {type MilterOptions, negotiate} from './milter-options.ts';

export type SessionAction =
  /** All replies go out in one write. */
  | {kind: 'answer'; replies: MilterReply[]}
  /** Keeps the next bytes of the mail. */
  | {kind: 'keep'; bytes: Buffer}
  /** The mail is complete: judges it, then calls `judged`. */
  | {kind: 'judge'; mail: JudgedMail}
  /** Drops the mail, which may be under judgement: the peer no longer waits for an answer. */
  | {kind: 'forget'}
  | {kind: 'close'};

export type MilterSession = ReturnType<typeof createMilterSession>;

type PeerClient = {peer: Peer; helo: string; isSecure: boolean};
type SessionCommand = Exclude<MilterCommand, CommandOf<'negotiate'>>;
type MailCommand = CommandOf<'mail' | 'rcpt'> | ContentCommand;

export const createMilterSession = (needs: EnvelopeNeeds) => {
  const macros = createStageMacros();
  const mails = createMailProgress();
  let options: MilterOptions | undefined;
  let client: PeerClient | undefined;

  const answer = ({kind}: MilterCommand, reply: MilterReply = {kind: 'continue'}): SessionAction[] =>
    options?.isAnswered(kind) ? [{kind: 'answer', replies: [reply]}] : [];

  const handleMail = (command: MailCommand, agreed: MilterOptions): SessionAction[] => {
    if (command.kind !== 'mail') {
      const {actions, reply} = mails.receive(command, macros.take(command));
      return [...actions, ...(reply ? answer(command, reply) : [])];
    }
    if (!client) throw new MilterError('a mail before its client was named');
    const envelope = createMilterEnvelope(needs, client, {...command, macros: macros.take(command)});
    return [...mails.start(createMilterMail(envelope, agreed)), ...answer(command)];
  };

  const handle = (command: SessionCommand, agreed: MilterOptions): SessionAction[] => {
    switch (command.kind) {
      case 'macros':
        macros.set(command);
        return [];
      case 'connect':
        macros.take(command);
        client = {peer: peerOf(command), helo: '', isSecure: false};
        return [...mails.forget(), ...answer(command)];
      case 'helo':
        if (!client) throw new MilterError('a greeting before its client was named');
        client = {...client, helo: command.name, isSecure: Boolean(macros.take(command).get('{tls_version}'))};
        return [...mails.forget(), ...answer(command)];
      case 'unknown':
        macros.take(command);
        return answer(command);
      case 'abort':
        macros.clear();
        return mails.forget();
      case 'quit-connection':
        macros.clear();
        client = undefined;
        return mails.forget();
      case 'quit':
        return [...mails.forget(), {kind: 'close'}];
      default:
        return handleMail(command, agreed);
    }
  };

  return {
    /** Throws MilterError when the peer violates the protocol. */
    receive(command: MilterCommand): SessionAction[] {
      if (command.kind === 'negotiate') {
        if (options) throw new MilterError('a second negotiation');
        options = negotiate(command);
        return [{kind: 'answer', replies: [options.reply]}];
      }
      if (!options) throw new MilterError('a command before the negotiation');
      if (mails.isJudging() && !mayInterrupt.has(command.kind))
        throw new MilterError('a command before the answer to the last one');
      return handle(command, options);
    },
    /** The answer to the end of a mail; no actions when that mail was forgotten meanwhile. */
    judged(mail: JudgedMail, replies: readonly MilterReply[]): SessionAction[] {
      if (!mails.endJudging(mail)) return [];
      return [{kind: 'answer', replies: options?.hasLeadingSpace ? replies.map(withLeadingSpace) : [...replies]}];
    },
    isJudging: mails.isJudging,
    /** From the first content command until the answer to the mail. */
    get isMailUnderWay(): boolean {
      return mails.isUnderWay();
    },
  };
};

interface MailStep {
  actions: SessionAction[];
  /** Sent if the peer waits for an answer to this command. */
  reply?: MilterReply | undefined;
}

/** The one mail of a connection: receiving → judging → none. */
const createMailProgress = () => {
  let mail: MilterMail | undefined;
  let judging: JudgedMail | undefined;

  const forget = (): SessionAction[] => {
    const isUnderWay = mail !== undefined || judging !== undefined;
    mail = undefined;
    judging = undefined;
    return isUnderWay ? [{kind: 'forget'}] : [];
  };

  const takeRecipient = (command: CommandOf<'rcpt'>, macros: Macros): MailStep => {
    if (!mail || mail.hasContent) throw new MilterError('a recipient without a mail');
    const refusal = mail.envelope.rcpt(command, macros);
    return {actions: [], reply: refusal ? {kind: 'reply', ...refusal} : {kind: 'continue'}};
  };

  const takeContent = (command: ContentCommand, macros: Macros): MailStep => {
    if (!mail) throw new MilterError('content without a mail');
    const {bytes, reply, complete} = mail.receive(command, macros);
    if (command.kind === 'end-of-body') mail = undefined;
    judging = complete;
    const kept = bytes.map(part => ({kind: 'keep' as const, bytes: part}));
    return {actions: complete ? [...kept, {kind: 'judge', mail: complete}] : kept, reply};
  };

  return {
    forget,
    start(next: MilterMail): SessionAction[] {
      const forgotten = forget();
      mail = next;
      return forgotten;
    },
    receive: (command: CommandOf<'rcpt'> | ContentCommand, macros: Macros): MailStep =>
      command.kind === 'rcpt' ? takeRecipient(command, macros) : takeContent(command, macros),
    /** Whether this mail, or without an argument any mail, is under judgement. */
    isJudging: (which?: JudgedMail): boolean => judging !== undefined && (which === undefined || which === judging),
    /** False when that mail was forgotten meanwhile. */
    endJudging(which: JudgedMail): boolean {
      if (judging !== which) return false;
      judging = undefined;
      return true;
    },
    isUnderWay: (): boolean => judging !== undefined || mail?.hasContent === true,
  };
};

/** Macros by stage. They hold for the next command of their stage only. */
const createStageMacros = () => {
  const macros = new Map<string, Macros>();
  return {
    set({stage, macros: values}: CommandOf<'macros'>): void {
      if (stages.has(stage)) macros.set(stage, values);
    },
    take({kind}: MilterCommand): Macros {
      const letter = stageLetters[kind] ?? '';
      const found = macros.get(letter) ?? new Map();
      macros.delete(letter);
      return found;
    },
    clear: () => macros.clear(),
  };
};

/** Letter of the macro stage of each command. */
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

/** Postfix waits for an answer, but the process that waits may die while another one keeps using the connection. */
const mayInterrupt: ReadonlySet<MilterCommand['kind']> = new Set(['macros', 'abort', 'quit', 'quit-connection']);

/** For a peer that expects the space after the colon in the value (SMFIP_HDR_LEADSPC). */
const withLeadingSpace = (reply: MilterReply): MilterReply =>
  reply.kind === 'add-header' || reply.kind === 'insert-header' ? {...reply, value: ` ${reply.value}`} : reply;
