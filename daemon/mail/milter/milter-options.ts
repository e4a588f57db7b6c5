// What this milter and its peer agree on before anything else.
import {type MilterCommand, MilterError, type MilterReply, type Negotiation} from './milter-codec.ts';

export interface MilterOptions {
  reply: MilterReply;
  /** Whether the peer waits for an answer to this command, and would take one it does not wait for as that to the next. */
  isAnswered(kind: MilterCommand['kind']): boolean;
  /** Header values come, and go, with the space that stands behind the colon. */
  hasLeadingSpace: boolean;
}

const maxVersion = 6;

const actionBits = {addHeaders: 0x1, changeHeaders: 0x10, quarantine: 0x20, chooseMacros: 0x100} as const;
const neededActions = actionBits.addHeaders | actionBits.changeHeaders | actionBits.quarantine;

/** Wanted where they are offered: each spares a message in one direction, or tells more exactly what a header is. */
const protocolBits = {
  noEndOfHeader: 0x40,
  noHeaderReply: 0x80,
  noUnknown: 0x100,
  noConnectReply: 0x1000,
  noHeloReply: 0x2000,
  noMailReply: 0x4000,
  noBodyReply: 0x80000,
  leadingSpace: 0x100000,
} as const;
const wantedProtocol = Object.values(protocolBits).reduce((all, bit) => all | bit, 0);

const silencedBy: Partial<Record<MilterCommand['kind'], number>> = {
  connect: protocolBits.noConnectReply,
  helo: protocolBits.noHeloReply,
  mail: protocolBits.noMailReply,
  header: protocolBits.noHeaderReply,
  body: protocolBits.noBodyReply,
};

const neverAnswered: ReadonlySet<MilterCommand['kind']> = new Set(['macros', 'abort', 'quit', 'quit-connection']);

/** By the numbers of the stages in libmilter. What is asked for here comes however the peer was configured. */
const wantedMacros: [stage: number, names: string][] = [
  [1, '{tls_version}'],
  [2, '{auth_authen} {mail_addr}'],
  [3, '{rcpt_addr} {rcpt_mailer}'],
  [5, 'i'],
];

/** Throws MilterError when the peer lacks what mail cannot be judged without. */
export const negotiate = ({version, actions, protocol}: Negotiation): MilterOptions => {
  if (version < 2) throw new MilterError(`the peer speaks version ${version} of the protocol, 2 is the least`);
  if ((actions & neededActions) !== neededActions)
    throw new MilterError('the peer does not let a milter add headers, change headers and quarantine; all three are needed');

  const agreed = protocol & wantedProtocol;
  const choosesMacros = (actions & actionBits.chooseMacros) !== 0;
  return {
    reply: {
      kind: 'negotiate',
      version: Math.min(version, maxVersion),
      actions: neededActions | (actions & actionBits.chooseMacros),
      protocol: agreed,
      macros: choosesMacros ? wantedMacros : [],
    },
    isAnswered: kind => !neverAnswered.has(kind) && (agreed & (silencedBy[kind] ?? 0)) === 0,
    hasLeadingSpace: (agreed & protocolBits.leadingSpace) !== 0,
  };
};
