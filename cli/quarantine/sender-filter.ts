// Filter that allows or blocks the sender of a held mail, for `quarantine allow` and `block` and for the dashboard. Prints nothing.
import type {Me} from '../../shared/api-key.ts';
import {isSenderAuthentic} from '../../shared/authentic-sender.ts';
import {canonicalPattern, maxPatternChars, patternFault} from '../../shared/filter-rules.ts';
import type {HeldMailDetail} from '../../shared/held-mail.ts';
import type {GlobalFilter, MailFilter} from '../../shared/mail-filter.ts';
import {scopesWith} from '../../shared/scopes.ts';
import {quoted} from '../../shared/shell-word.ts';
import type {Client} from '../client/client.ts';
import {findDomainId} from '../domain/find-domain.ts';
import {CliError, exitCodes, notFound, undefinedIfNotFound} from '../errors.ts';
import {filterList} from '../filter/filter-list.ts';
import {mailId} from './held-mail-columns.ts';

export type SenderAction = 'allow' | 'block';

export const allDomains = 'all domains';

/** What is to be done with later mail of the sender of a held mail. */
export interface SenderRule {
  action: SenderAction;
  /** In the form that is stored. */
  sender: string;
  /** Of the mail. */
  domain: string;
  /** What to consider before. */
  warning: string | undefined;
  comment: string | null;
}

type Detail = Pick<HeldMailDetail, 'sender' | 'domain' | 'direction' | 'authentication'>;

export const bounceFault = (action: SenderAction): string => `a bounce has no sender that could be ${action}ed`;

/** Why no filter can name the sender of this mail. */
export const senderFault = ({sender, domain, direction}: Detail, action: SenderAction): string | undefined => {
  if (sender === '') return bounceFault(action);
  if (direction === 'outbound') return `it is outbound mail of ${domain}, and only senders of inbound mail are ${action}ed`;
  const fault =
    sender.length > maxPatternChars
      ? 'is too long for a filter'
      : patternFault({match: 'sender', pattern: canonicalPattern('sender', sender)});
  return fault === undefined ? undefined : `its sender ${JSON.stringify(sender.slice(0, maxPatternChars))} ${fault}`;
};

/** Null for mail that is believed without, and of nodes of earlier versions. */
export const isUnverified = ({sender, authentication}: Detail): boolean =>
  Boolean(authentication && !isSenderAuthentic(sender, authentication));

/** Throws where the sender cannot, or should not, be allowed or blocked. */
export const senderRule = (mail: HeldMailDetail, action: SenderAction): SenderRule => {
  const {domain} = mail;
  const fault = senderFault(mail, action);
  if (fault !== undefined) throw new CliError('no_sender', `no filter was added: ${fault}`);
  const sender = canonicalPattern('sender', mail.sender);
  const forged = `neither SPF nor DKIM verifies that this mail comes from ${sender}`;
  if (action === 'allow' && isUnverified(mail))
    throw new CliError('sender_unverified', `no filter was added: ${forged}, and anybody could write such mail`, {
      hint: `to allow it anyway: mfctl domain filters add ${quoted(domain)} --allow --sender ${quoted(sender)} --no-authenticated`,
    });
  const warning = isUnverified(mail) ? `${forged}: the owner of that address may have nothing to do with it` : undefined;
  return {action, sender, domain, warning, comment: `${action}ed from: ${mailId(mail)}`};
};

interface WantedRight {
  isForAll: boolean;
  /** What the person can be sure of: `nothing was released`. */
  undone: string;
  /** The option that asks for more than the key may. */
  without?: string;
}

/** Throws when the key may not add the filter. To be called before anything is read: what is read first takes a key of fewer rights. */
export const requireFilterRight = (me: Me, {isForAll, undone, without}: WantedRight): void => {
  const right = isForAll ? 'cluster:write' : 'domains:write';
  if (me.permissions.includes(right)) return;
  const fitting = scopesWith(right);
  const why = fitting.includes(me.scope)
    ? 'every domain of this key is gone, and it may not add filters'
    : `a ${me.scope} key may not add filters${isForAll ? ` for ${allDomains}` : ''}`;
  throw new CliError('insufficient_scope', `${why}: ${undone}`, {
    exitCode: exitCodes.notAuthorised,
    hint: `${without === undefined ? '' : `leave out ${without}, or `}use a key of scope ${fitting.join(' or ')}`,
  });
};

/** Of one domain. */
export interface DomainFilters {
  domainId: number | string;
  filters: MailFilter[];
}

/** Undefined where there is no such domain any more. */
export const filtersOf = async (client: Pick<Client, 'domains'>, domain: string): Promise<DomainFilters | undefined> => {
  try {
    const domainId = await findDomainId(client, domain);
    return {domainId, filters: (await client.domains.filters(domainId)).data};
  } catch (error) {
    return undefinedIfNotFound(error);
  }
};

/** Filters that a new one may stand beside: those of the domain of the mail, and those for all domains. */
export interface KnownFilters {
  ofDomain: DomainFilters | undefined;
  forAll: GlobalFilter[];
}

/** Those for all domains are left out where they do not matter: few keys may read them. */
export const readFilters = async (
  client: Pick<Client, 'domains' | 'filters'>,
  {domain}: SenderRule,
  isForAll: boolean,
): Promise<KnownFilters> => {
  const ofDomain = await filtersOf(client, domain);
  if (!(ofDomain || isForAll)) throw notFound(`no domain is called ${domain}`, 'mfctl domain list');
  return {ofDomain, forAll: isForAll ? (await client.filters.list()).data : []};
};

/** Filters of one owner, for this sender, that do the one or the other. */
export const filtersNaming = (
  filters: readonly GlobalFilter[],
  sender: string,
): {allow: GlobalFilter | undefined; block: GlobalFilter | undefined} => {
  const naming = filters.filter(({match, pattern}) => match === 'sender' && pattern === sender);
  return {allow: naming.find(({action}) => action === 'allow'), block: naming.find(({action}) => action === 'block')};
};

/** `whose` is a domain; undefined for filters for all domains. */
export const removingCommand = ({id}: Pick<GlobalFilter, 'id'>, whose: string | undefined): string =>
  whose === undefined ? `mfctl filter remove ${id}` : `mfctl domain filters remove ${quoted(whose)} ${id}`;

/** Of two filters of one owner for one sender, the one that blocks decides: see the rules in docs/operations.md. */
export const blockText = ({id}: Pick<GlobalFilter, 'id'>, whose: string | undefined, sender: string): string =>
  `filter ${id} ${whose === undefined ? 'for all domains' : `of ${whose}`} blocks ${sender}, and wins over one that allows it`;

/** What comes of a filter beside those that are there. */
export interface SenderOutcome {
  /** `later mail from a@x to example.com is refused` */
  text: string;
  /** The same filter, where there is one. */
  present: GlobalFilter | undefined;
}

/** Throws where the filter would have no effect. The node decides in the same order, in daemon/services/intake/filters.ts. */
export const senderOutcome = (rule: SenderRule, {ofDomain, forAll}: KnownFilters, isForAll: boolean): SenderOutcome => {
  const {action, sender, domain} = rule;
  const whose = isForAll ? undefined : domain;
  const own = filtersNaming(ofDomain?.filters ?? [], sender);
  const same = isForAll ? filtersNaming(forAll, sender) : own;
  if (action === 'allow' && same.block)
    throw new CliError('conflict', blockText(same.block, whose, sender), {hint: removingCommand(same.block, whose)});

  const decisive = own.block ?? own.allow;
  const exception =
    isForAll && decisive && decisive.action !== action
      ? `; but filter ${decisive.id} of ${domain} ${decisive.action}s it there, and wins: ${removingCommand(decisive, domain)}`
      : '';
  return {text: `${ruleText(rule, isForAll)}${exception}`, present: same[action]};
};

const ruleText = ({action, sender, domain}: SenderRule, isForAll: boolean): string => {
  const to = isForAll ? allDomains : domain;
  return action === 'block'
    ? `later mail from ${sender} to ${to} is refused`
    : `later mail from ${sender} to ${to} is delivered whatever its score, if SPF or DKIM verifies the sender`;
};

export interface AddedFilter {
  filter: GlobalFilter;
  /** False for one that was there already. */
  isNew: boolean;
  /** See `SenderOutcome`. */
  text: string;
}

export const addSenderFilter = async (
  client: Pick<Client, 'domains' | 'filters'>,
  rule: SenderRule,
  isForAll: boolean,
): Promise<AddedFilter> => {
  const known = await readFilters(client, rule, isForAll);
  const {text, present} = senderOutcome(rule, known, isForAll);
  if (present) return {filter: present, isNew: false, text};
  const {action, sender, comment} = rule;
  const filters = filterList(client, isForAll ? undefined : known.ofDomain?.domainId);
  return {filter: (await filters.add({action, match: 'sender', pattern: sender, comment})).data, isNew: true, text};
};
