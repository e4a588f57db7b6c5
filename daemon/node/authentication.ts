// Verification of inbound mail, wired to DNS, the log and the metrics.
import {createDnsAnswers} from '../mail/authentication/dns-answers.ts';
import {verifyMail} from '../mail/authentication/verify-mail.ts';
import type {Lookup} from '../mail/lookup.ts';
import type {Readers} from '../mail/readers/readers.ts';
import type {MailVerifier} from '../services/intake/mail.ts';
import type {Base} from './base.ts';
import {muteText, watchNameServers} from './dependencies.ts';

interface Verifier extends MailVerifier {
  newLookup(): Lookup;
  /** For somebody who has just changed a record: without answers from before. */
  freshLookup(): Lookup;
}

export const openVerifier = (
  base: Pick<Base, 'config' | 'settings' | 'fqdn' | 'metrics' | 'dependencies' | 'log'>,
  readers: Readers,
): Verifier => {
  const {
    config: {authentication},
    fqdn,
    metrics,
    dependencies,
    log,
  } = base;
  const common = {
    servers: authentication.dns_servers,
    timeoutMs: authentication.dns_timeout * 1000,
    monotonic: () => performance.now(),
  };
  const answers = createDnsAnswers({
    ...common,
    onMute() {
      metrics.dnsMute(true);
      dependencies.failed('name_servers', {detail: muteText, isCertain: true});
      log.warn('the name servers do not answer: mail is not verified until they do; see authentication.dns_servers');
    },
    onBack() {
      metrics.dnsMute(false);
      dependencies.worked('name_servers');
      log.info('the name servers answer again');
    },
  });
  watchNameServers(base, answers.check);
  return {
    newLookup: answers.forMail,
    freshLookup: () => createDnsAnswers({...common, onMute: () => {}, onBack: () => {}}).forMail(),
    verify: async mail => verifyMail(mail, {newLookup: answers.forMail, fqdn, readers}),
  };
};
