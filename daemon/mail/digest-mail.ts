// Delivery of digests: a mail to the backends of the domain.
import type {DigestSettings} from '../../shared/digest.ts';
import {untagged} from '../../shared/digest-rules.ts';
import type {Domain} from '../../shared/domain.ts';
import type {Deliver, RecipientResult, Route} from '../services/intake/mail.ts';
import type {Digest, DigestResult, DigestTransport} from '../services/recipients/digest-model.ts';
import {digestFrom} from '../services/recipients/digest-settings.ts';
import {digestParts} from '../services/recipients/digest-text.ts';
import {bytesContent} from './bytes-content.ts';
import {replies} from './smtp-reply.ts';

interface Needs {
  deliver: Deliver['deliver'];
  /** Undefined when the domain has no backend. */
  routeTo(domain: Domain): Route | undefined;
  /** The domain that signs mail from this address; undefined for none. */
  signFor(from: string): Domain | undefined;
  /** The address that digests come from, where it is not that of the domain. */
  from(): string | undefined;
  /** The base of links; undefined when none is set any more. */
  pagesUrl(): string | undefined;
}

const notSent = (detail: string): DigestResult => ({state: 'waiting', detail, hasServer: false});

export const createDigestTransport = ({deliver, routeTo, signFor, from, pagesUrl}: Needs): DigestTransport => ({
  async send(domain, settings, digest): Promise<DigestResult> {
    const [route, url] = [routeTo(domain), pagesUrl()];
    if (url === undefined) return notSent('recipients.url is not set in mfd.yaml');
    if (!route) return notSent('the domain has no backend');
    const sender = digestFrom(domain, from());
    const signing = signFor(sender);
    const recipient = recipientOf(digest);
    const sendAs = async ({isBare}: {isBare: boolean}): Promise<RecipientResult | undefined> => {
      const bytes = await digestMail({digest, settings, url, from: sender, domain: domain.name, isBare});
      const isUtf8 = /[^\x00-\x7f]/.test(recipient);
      const envelope = {sender: '', recipients: [recipient], isUtf8, isEightBit: false};
      const [result] = await deliver({...route, ...(signing && {signFor: signing})}, envelope, bytesContent(bytes));
      return result;
    };
    try {
      const result = await sendAs({isBare: false});
      if (!result?.isOfContent || result.outcome !== 'refused') return resultOf(result);
      // A subject may be why: one stranger must not keep all other mail out of the digest.
      return {...resultOf(await sendAs({isBare: true})), bareFor: detailOf(result)};
    } catch (error) {
      // It could not be signed.
      return notSent(error instanceof Error ? error.message : String(error));
    }
  },
});

/** As its mail has him: the mailbox is folded. */
const recipientOf = ({mailbox, mails}: Digest): string => untagged(mails[0]?.address ?? mailbox);

const detailOf = ({reply: {code, text}}: RecipientResult): string => `${code} ${text}`;

const resultOf = (result: RecipientResult | undefined): DigestResult => {
  if (!result) return notSent('nothing was tried');
  const {outcome, reply} = result;
  const detail = detailOf(result);
  if (outcome === 'delivered') return {state: 'sent', detail};
  if (reply.text === replies.backendLost.text) return {state: 'unknown', detail};
  // This node says 5xx itself where the backend can never take it: an address that needs SMTPUTF8.
  if (outcome === 'refused') return {state: 'refused', detail};
  return {state: 'waiting', detail, hasServer: reply.server !== undefined};
};

interface Parts {
  digest: Digest;
  settings: DigestSettings;
  url: string;
  from: string;
  /** Of the recipient. */
  domain: string;
  /** Without texts of mails. */
  isBare?: boolean;
}

export const digestMail = async ({digest, settings, url, from, domain, isBare = false}: Parts): Promise<Buffer> => {
  const {default: MailComposer} = await import('nodemailer/lib/mail-composer');
  const {id, due_at} = digest;
  const composed = new MailComposer({
    from: {name: '', address: from},
    to: {name: '', address: recipientOf(digest)},
    date: new Date(due_at),
    messageId: `<digest.${id}@${domain}>`,
    // Answers of machines to machines come back and back (RFC 3834 section 5).
    headers: {'Auto-Submitted': 'auto-generated'},
    ...digestParts(digest, settings, url, isBare),
  });
  return composed.compile().build();
};
