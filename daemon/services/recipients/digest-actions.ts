// What callers ask of digests besides their settings: to see one, and to have them sent now.
import type {DigestPreview, SentDigests} from '../../../shared/digest.ts';
import {mailboxOf} from '../../../shared/digest-rules.ts';
import {Fault} from '../../../shared/fault.ts';
import {owningDomain} from '../../../shared/mail-address.ts';
import type {Actor} from '../actor.ts';
import type {Domains} from '../domains/domains.ts';
import {answerMs, type Gathered, startAnswerLimit} from '../peers/gather.ts';
import type {ConfigStore, Store} from '../ports.ts';
import {invalidFields} from '../validate.ts';
import type {DigestSender} from './digest-sender.ts';
import {digestFrom, readSettings} from './digest-settings.ts';
import {digestParts} from './digest-text.ts';

/** Each method throws a Fault `not_found` for a domain outside the actor's access scope. */
export interface DigestActions {
  preview(actor: Actor, domainId: number, address: string): Promise<Gathered<DigestPreview>>;
  sendNow(actor: Actor, domainId: number): Promise<SentDigests>;
}

interface Needs {
  store: Pick<Store, 'config'>;
  configuration: ConfigStore;
  domains: Pick<Domains, 'get'>;
  sender: Pick<DigestSender, 'preview' | 'sendNow'>;
  /** The base of links, and where digests come from. */
  pages(): {url?: string | undefined; from?: string | undefined};
}

export const createDigestActions = ({store, configuration, domains, sender, pages}: Needs): DigestActions => ({
  async preview(actor, domainId, address) {
    const domain = domains.get(actor, domainId);
    if (owningDomain(address) !== domain.name)
      throw invalidFields([{path: 'address', detail: `must be an address of ${domain.name}`}]);
    const {digest, unreachable} = await sender.preview(domain, mailboxOf(address));
    const {url = 'https://recipients.url', from} = pages();
    const parts = digestParts(digest, await readSettings(store.config, domainId), url);
    return {result: {from: digestFrom(domain, from), to: digest.mailbox, ...parts, mails: digest.mails.length}, unreachable};
  },

  async sendNow(actor, domainId) {
    const domain = domains.get(actor, domainId);
    const {enabled} = await readSettings(store.config, domainId);
    if (!enabled)
      throw new Fault(
        'conflict',
        `${domain.name} has no digests; switch them on first (mfctl domain digest ${domain.name} --enable)`,
      );
    await configuration.change(async tx => tx.audit(actor, 'domain.digest_send', domain.name));
    const limit = startAnswerLimit(answerMs);
    try {
      const {sent, refused, isWaiting, failure, refusal} = await limit.answer(sender.sendNow(domain), 'sending the digests');
      return {domain: domain.name, sent, refused, is_waiting: isWaiting, failure: failure ?? refusal ?? null};
    } finally {
      limit.end();
    }
  },
});
