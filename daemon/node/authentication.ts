// Verification of inbound mail, wired to DNS, the log and the metrics.
import {createDnsAnswers} from '../mail/authentication/dns-answers.ts';
import {createSignatureThread} from '../mail/authentication/signature-thread.ts';
import {verifyMail} from '../mail/authentication/verify-mail.ts';
import type {Lookup} from '../mail/lookup.ts';
import {loadMailauth} from '../mail/readers/mailauth.ts';
import type {MailVerifier} from '../services/intake/mail.ts';
import type {Base} from './base.ts';

/** The file of the thread, beside this one; see bin/build.mjs. */
declare const SIGNATURE_THREAD: string;

interface Verifier extends MailVerifier {
  newLookup(): Lookup;
  /** For somebody who has just changed a record: nothing that was known before counts. */
  freshLookup(): Lookup;
  close(): Promise<void>;
}

export const openVerifier = ({
  config: {authentication},
  fqdn,
  metrics,
  log,
}: Pick<Base, 'config' | 'fqdn' | 'metrics' | 'log'>): Verifier => {
  const common = {
    servers: authentication.dns_servers,
    timeoutMs: authentication.dns_timeout * 1000,
    monotonic: () => performance.now(),
  };
  const answers = createDnsAnswers({
    ...common,
    onMute() {
      metrics.dnsMute(true);
      log.warn('the name servers do not answer: mail is not verified until they do; see authentication.dns_servers');
    },
    onBack() {
      metrics.dnsMute(false);
      log.info('the name servers answer again');
    },
  });
  const thread = createSignatureThread(new URL(`./${SIGNATURE_THREAD}`, import.meta.url));
  return {
    newLookup: answers.forMail,
    freshLookup: () => createDnsAnswers({...common, onMute: () => {}, onBack: () => {}}).forMail(),
    async verify(mail) {
      await Promise.all([loadMailauth(), thread.load()]);
      return verifyMail(mail, {lookup: answers.forMail(), fqdn, check: thread.check});
    },
    close: thread.close,
  };
};
