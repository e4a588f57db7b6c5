// Negotiation of protocol options at the start of a milter connection.
import {type MilterCommand, MilterError, type MilterReply, type Negotiation} from './milter-codec.ts';

export interface MilterOptions {
  reply: MilterReply;
  /** Whether the peer waits for an answer to this command. It would take an unexpected answer for the answer to the next one. */
  isAnswered(kind: MilterCommand['kind']): boolean;
  /** Header values include the space after the colon, in both directions. */
  hasLeadingSpace: boolean;
}

const maxVersion = 6;

const actionBits = {addHeaders: 0x1, changeHeaders: 0x10, quarantine: 0x20, chooseMacros: 0x100} as const;
const neededActions = actionBits.addHeaders | actionBits.changeHeaders | actionBits.quarantine;

/** Requested if offered: each saves messages in one direction, or makes header values exact. */
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

/** Macros by libmilter's stage number. The peer sends requested macros whatever its configuration is. */
const wantedMacros: [stage: number, names: string][] = [
  [1, '{tls_version}'],
  [2, '{auth_authen} {mail_addr}'],
  [3, '{rcpt_addr} {rcpt_mailer}'],
  [5, 'i'],
];

/** Throws MilterError when the peer lacks a required capability. */
export const negotiate = ({version, actions, protocol}: Negotiation): MilterOptions => {
  if (version < 2) throw new MilterError(`the peer speaks version ${version} of the protocol, and 2 is the lowest supported`);
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
