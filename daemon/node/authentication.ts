// Verification of inbound mail, wired to DNS, the log and the metrics.
import {createDnsAnswers, type DnsAnswers} from '../mail/authentication/dns-answers.ts';
import {verifyMail} from '../mail/authentication/verify-mail.ts';
import type {Lookup} from '../mail/lookup.ts';
import type {Readers} from '../mail/readers/readers.ts';
import type {MailVerifier} from '../services/intake/mail.ts';
import type {Base} from './base.ts';
import {muteText, watchNameServers} from './dependencies.ts';
import type {LiveSettings} from './live-settings.ts';
import {remade} from './remade.ts';

interface Verifier extends MailVerifier {
  newLookup(): Lookup;
  /** For somebody who has just changed a record: without answers from before. */
  freshLookup(): Lookup;
}

export const openVerifier = (
  base: Pick<Base, 'settings' | 'fqdn' | 'metrics' | 'dependencies' | 'log'>,
  readers: Readers,
): Verifier => {
  const {settings, fqdn, metrics, dependencies, log} = base;
  const needsOf = ({servers, timeout}: LiveSettings['dns']) => ({
    servers,
    timeoutMs: timeout * 1000,
    monotonic: () => performance.now(),
  });
  const answers = remade(
    () => settings().dns,
    dns => {
      // Name servers that were replaced do not count any more, whatever they answer.
      metrics.dnsMute(false);
      const made: DnsAnswers = createDnsAnswers({
        ...needsOf(dns),
        onMute() {
          if (answers() !== made) return;
          metrics.dnsMute(true);
          dependencies.failed('name_servers', {detail: muteText, isCertain: true});
          log.warn('the name servers do not answer: mail is not verified until they do; see authentication.dns_servers');
        },
        onBack() {
          if (answers() !== made) return;
          metrics.dnsMute(false);
          dependencies.worked('name_servers');
          log.info('the name servers answer again');
        },
      });
      return made;
    },
  );
  watchNameServers(base, async () => answers().check());
  return {
    newLookup: () => answers().forMail(),
    freshLookup: () => createDnsAnswers({...needsOf(settings().dns), onMute: () => {}, onBack: () => {}}).forMail(),
    verify: async mail => verifyMail(mail, {newLookup: () => answers().forMail(), fqdn, readers}),
  };
};
