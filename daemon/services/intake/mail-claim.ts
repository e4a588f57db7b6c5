// Owner of a mail: the domain after the last `@` of its recipient, or of its sender when the mail is outbound.

import type {Domain} from '../../../shared/domain.ts';
import {domainOf, hasInstruction, owningDomain, parseMailAddress, withoutBrackets} from '../../../shared/mail-address.ts';
import type {Client, Ownership} from './mail.ts';
import type {SmtpReply} from './mail-ports.ts';

/** `foreign`: no domain of this cluster owns the mail. `refused`: a domain owns the mail, but it is not accepted. */
type Claim = {kind: 'owned'; ownership: Ownership} | {kind: 'foreign'; reply: SmtpReply} | {kind: 'refused'; reply: SmtpReply};

/** `recipient` is an address or an SMTP path as received. Even one that cannot be parsed may have an owner. */
export type MailClaim = (client: Pick<Client, 'isTrusted'>, sender: string, recipient: string) => Claim;

export const createClaim =
  (domains: {findByName(name: string): Domain | undefined}): MailClaim =>
  (client, sender, recipient) => {
    const from = domains.findByName(domainOf(sender) ?? '');
    const mayBeOutbound = client.isTrusted && from !== undefined && from.direction !== 'inbound';
    const to = domains.findByName(owningDomain(recipient) ?? '');
    const isInbound = to !== undefined && to.direction !== 'outbound';
    if (!mayBeOutbound && !isInbound) return {kind: 'foreign', reply: relayingDenied};

    // Backends trust this gateway and would follow routing instructions from it, so only trusted clients may send them.
    if (!client.isTrusted && hasInstruction(recipient)) return {kind: 'refused', reply: noSourceRouting};
    if (!parseMailAddress(withoutBrackets(recipient))) return {kind: 'refused', reply: badRecipient};
    if (mayBeOutbound && from.active) return {kind: 'owned', ownership: {direction: 'outbound', domain: from}};
    if (isInbound && to.active) return {kind: 'owned', ownership: {direction: 'inbound', domain: to}};
    return {kind: 'refused', reply: inactive};
  };

const relayingDenied: SmtpReply = {code: 550, text: '5.7.1 Relaying denied'};
const noSourceRouting: SmtpReply = {code: 550, text: '5.1.3 Routing in the local part of an address is not allowed'};
const badRecipient: SmtpReply = {code: 501, text: '5.1.3 Bad recipient address syntax'};
const inactive: SmtpReply = {code: 450, text: '4.7.1 Mail of this domain is not taken at present'};
