// Filter that allows or blocks the sender of a held mail, for `quarantine allow` and `block` and for the dashboard. Prints nothing.
import {isSenderAuthentic} from '../../shared/authentic-sender.ts';
import {canonicalPattern, maxPatternChars, patternFault} from '../../shared/filter-rules.ts';
import type {HeldMailDetail} from '../../shared/held-mail.ts';
import type {GlobalFilter} from '../../shared/mail-filter.ts';
import type {Client} from '../client/client.ts';
import {quoted} from '../command-line/typed-words.ts';
import {findDomainId} from '../domain/find-domain.ts';
import {CliError} from '../errors.ts';
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
  const fault = sender.length > maxPatternChars ? 'is too long for a filter' : patternFault({match: 'sender', pattern: sender});
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

/** `later mail from a@x to example.com is refused` */
export const ruleText = ({action, sender, domain}: SenderRule, isForAll: boolean): string => {
  const whose = isForAll ? allDomains : domain;
  return action === 'block'
    ? `later mail from ${sender} to ${whose} is refused`
    : `later mail from ${sender} to ${whose} is delivered whatever its score, if SPF or DKIM verifies the sender`;
};

export interface AddedFilter {
  filter: GlobalFilter;
  /** False for one that was there already. */
  isNew: boolean;
}

export const addSenderFilter = async (
  client: Pick<Client, 'domains' | 'filters'>,
  {action, sender, domain, comment}: SenderRule,
  isForAll: boolean,
): Promise<AddedFilter> => {
  const filters = filterList(client, isForAll ? undefined : await findDomainId(client, domain));
  const {data} = await filters.list();
  const equal = data.filter(({match, pattern}) => match === 'sender' && pattern === sender);
  const present = equal.find(one => one.action === action);
  if (present) return {filter: present, isNew: false};
  const block = equal.find(one => one.action === 'block');
  if (block) {
    const verb = isForAll ? 'filter remove' : `domain filters remove ${quoted(domain)}`;
    throw new CliError('conflict', `filter ${block.id} blocks ${sender}, and wins over one that allows it`, {
      hint: `mfctl ${verb} ${block.id}`,
    });
  }
  return {filter: (await filters.add({action, match: 'sender', pattern: sender, comment})).data, isNew: true};
};
