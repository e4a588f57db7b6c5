// Intake of mail, for all listeners: the owner, the score and the resulting action of each mail.
import {isSenderAuthentic} from '../../../shared/authentic-sender.ts';
import type {Domain} from '../../../shared/domain.ts';
import {Fault} from '../../../shared/fault.ts';
import type {SymbolScore} from '../../../shared/held-mail.ts';
import {parseHostPort} from '../../../shared/host-port.ts';
import {domainOf, hasInstruction, owningDomain, parseMailAddress, withoutBrackets} from '../../../shared/mail-address.ts';
import type {FilterSet} from './filters.ts';
import type {
  Client,
  Judgement,
  MailHolder,
  MailVerifier,
  Ownership,
  ReceivedMail,
  Route,
  Score,
  Scorer,
  SmtpReply,
  Verified,
} from './mail.ts';

/** A mail has one owner, so recipients with different owners need separate mails. */
export const isSameOwner = (one: Ownership, other: Ownership): boolean =>
  one.direction === other.direction && one.domain.id === other.domain.id && one.isForReports === other.isForReports;

type Routing = {kind: 'accept'; ownership: Ownership; route: Route} | {kind: 'refuse'; reply: SmtpReply};

export interface Intake {
  /** The owner of mail from `sender` to `recipient`. Reads memory only. */
  claim: MailClaim;
  /** The owner and the route of such mail, or the reply that refuses it. */
  routing(client: Client, sender: string, recipient: string): Routing;
  /** Undefined, or the reply that refuses mail while none can be accepted. */
  canTakeMail(): SmtpReply | undefined;
  /** Applies score, filters and thresholds. Rejects with a Fault `unavailable` when the scorer fails and mail must wait for it. */
  judge(mail: ReceivedMail, ownership: Ownership): Promise<Judgement>;
  /** The mail is durable when this resolves. */
  hold(mail: ReceivedMail, ownership: Ownership, judgement: Judgement): Promise<void>;
  /** See `routeFor`. */
  routeOf(ownership: Ownership): Route | undefined;
}

/** What an intake reads of the domains; the directory of domains has it. */
interface DomainsOfMail {
  findByName(name: string): Domain | undefined;
  findById(id: number): Domain | undefined;
  filtersOf(id: number): FilterSet;
}

interface Needs {
  domains: DomainsOfMail;
  /** Whether this node reads DMARC reports that are sent to the address. */
  isForReports(recipient: string): boolean;
  scorer: Scorer;
  /** Undefined when no mail is verified. */
  verifier(): MailVerifier | undefined;
  /** The symbols of the results; empty where the scorer judges them itself. */
  weigh(verified: Verified): SymbolScore[];
  /** Whether a mail has to come again, because its authentication could not be decided. */
  isUndecided(verified: Verified): boolean;
  holder: MailHolder;
  smarthost(): Omit<Route, 'signFor'> | undefined;
  hasSpace(): boolean;
  /** False while this node knows that the store of its held mail cannot be reached. */
  isStoreReachable(): boolean;
  /** True if this node was removed from its cluster: nobody could see or release mail that it holds. */
  isRemoved(): boolean;
  /** `pass`: mail that could not be scored is treated as if it had scored 0. */
  onScorerFailure(): 'tempfail' | 'pass';
  onUnscored(error: unknown): void;
}

export const createIntake = (needs: Needs): Intake => {
  const {domains, holder} = needs;

  const routeOf = (ownership: Ownership): Route | undefined => routeFor(ownership, needs.smarthost());
  const claim = createClaim(needs);

  const scoreOf = async (mail: ReceivedMail): Promise<Score> => {
    try {
      return await needs.scorer.score(mail);
    } catch (error) {
      needs.onUnscored(error);
      if (needs.onScorerFailure() === 'tempfail') throw error;
      return {score: 0, symbols: [{name: 'NOT_SCORED', score: 0}], reason: 'spam'};
    }
  };

  return {
    routeOf,
    canTakeMail() {
      if (needs.isRemoved()) return refusal(451, '4.3.2 This system takes no mail any more, use another one');
      if (!needs.isStoreReachable()) return refusal(451, '4.3.0 The mail store cannot be reached, try again later');
      return needs.hasSpace() ? undefined : refusal(452, '4.3.1 Insufficient system storage, try again later');
    },
    async hold(mail, ownership, judgement) {
      if (needs.isRemoved()) throw new Fault('unavailable', 'this node was removed from its cluster; it holds no more mail');
      await holder.hold(mail, ownership, judgement);
    },

    claim,

    routing(client, sender, recipient) {
      const claimed = claim(client, sender, recipient);
      if (claimed.kind !== 'owned') return {kind: 'refuse', reply: claimed.reply};
      const {ownership} = claimed;
      const route = routeOf(ownership);
      if (route) return {kind: 'accept', ownership, route};
      return {kind: 'refuse', reply: ownership.direction === 'outbound' ? noSmarthost : noServer};
    },

    async judge(mail, ownership) {
      const {isTrusted, user} = mail.client;
      const isKnown = isTrusted || user !== null;
      const [verified, scored] = await Promise.all([isKnown ? undefined : needs.verifier()?.verify(mail), scoreOf(mail)]);
      const weighed = verified ? withSymbols(scored, needs.weigh(verified)) : scored;
      // A client may take minutes to send its mail, so the domain is read again.
      const domain = domains.findById(ownership.domain.id) ?? ownership.domain;
      const isAuthentic = isKnown || (verified !== undefined && isFromSender(mail, verified));
      const {score, override} = await domains.filtersOf(domain.id).apply({...mail, isAuthentic}, weighed);
      const isUndecided = verified !== undefined && needs.isUndecided(verified);
      return {...score, action: override ?? actionFor(score, domain, isUndecided), ...(verified && {verified})};
    },
  };
};

/** Not where the reader sees other authors than one of the envelope: its sender alone then says little. */
const isFromSender = ({envelope: {sender}}: ReceivedMail, {results, authorship}: Verified): boolean =>
  authorship === 'clear' && isSenderAuthentic(sender, results);

/** The route of mail: the backends of its domain, or the smarthost when outbound; undefined when none is configured. */
export const routeFor = ({direction, domain}: Ownership, smarthost: Omit<Route, 'signFor'> | undefined): Route | undefined => {
  if (direction === 'outbound') return smarthost && (domain.dkim_active ? {...smarthost, signFor: domain} : smarthost);
  const servers = domain.backend_servers.flatMap(text => parseHostPort(text) ?? []);
  return servers.length > 0 ? {servers} : undefined;
};

/** Mail of a sender that was forged is phishing, unless a scanner of its content says worse. */
const withSymbols = (score: Score, symbols: readonly SymbolScore[]): Score => {
  const sum = symbols.reduce((total, symbol) => total + symbol.score, 0);
  const reason = sum > 0 && score.reason !== 'sandbox' ? 'phishing' : score.reason;
  return {...score, score: score.score + sum, symbols: [...score.symbols, ...symbols], reason};
};

const actionFor = ({score, wantsRetry}: Score, domain: Domain, isUndecided: boolean): Judgement['action'] => {
  if (score >= domain.reject_threshold) return 'reject';
  // Before the hold threshold: mail that is sent again is scored again, and mail that is not needs no review.
  if (wantsRetry) return 'defer';
  if (isUndecided) return 'undecided';
  return score >= domain.quarantine_threshold ? 'hold' : 'relay';
};

const refusal = (code: number, text: string): SmtpReply => ({code, text});

const noSmarthost = refusal(550, '5.7.1 No outbound relay is configured here');
const noServer = refusal(451, '4.4.4 No server for this domain');

/** `foreign`: no domain of this cluster owns the mail. `refused`: a domain owns the mail, but it is not accepted. */
type Claim = {kind: 'owned'; ownership: Ownership} | {kind: 'foreign'; reply: SmtpReply} | {kind: 'refused'; reply: SmtpReply};

/** `recipient` is an address or an SMTP path as received. Even one that cannot be parsed may have an owner. */
export type MailClaim = (client: Pick<Client, 'isTrusted'>, sender: string, recipient: string) => Claim;

interface ClaimNeeds extends Pick<Needs, 'isForReports'> {
  domains: Pick<DomainsOfMail, 'findByName'>;
}

export const createClaim =
  ({domains, isForReports}: ClaimNeeds): MailClaim =>
  (client, sender, recipient) => {
    const from = domains.findByName(domainOf(sender) ?? '');
    const mayBeOutbound = client.isTrusted && from !== undefined && from.direction !== 'inbound';
    const to = domains.findByName(owningDomain(recipient) ?? '');
    const isInbound = to !== undefined && to.direction !== 'outbound';
    if (!mayBeOutbound && !isInbound) return {kind: 'foreign', reply: relayingDenied};

    // Backends trust this gateway and would follow routing instructions from it, so only trusted clients may send them.
    if (!client.isTrusted && hasInstruction(recipient)) return {kind: 'refused', reply: noSourceRouting};
    if (!parseMailAddress(withoutBrackets(recipient))) return {kind: 'refused', reply: badRecipient};
    if (mayBeOutbound && from.active)
      return {kind: 'owned', ownership: {direction: 'outbound', domain: from, isForReports: false}};
    if (isInbound && to.active) return {kind: 'owned', ownership: inboundTo(to, isForReports(withoutBrackets(recipient)))};
    return {kind: 'refused', reply: inactive};
  };

const inboundTo = (domain: Domain, isForReports: boolean): Ownership => ({
  direction: 'inbound',
  domain,
  isForReports,
});

const relayingDenied: SmtpReply = {code: 550, text: '5.7.1 Relaying denied'};
const noSourceRouting: SmtpReply = {code: 550, text: '5.1.3 Routing in the local part of an address is not allowed'};
const badRecipient: SmtpReply = {code: 501, text: '5.1.3 Bad recipient address syntax'};
const inactive: SmtpReply = {code: 450, text: '4.7.1 Mail of this domain is not taken at present'};
