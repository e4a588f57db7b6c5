// Advice about the DMARC policy of a domain, from what other servers report about its mail.
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';

/** What receivers elsewhere report about the mail of a domain. */
export interface ReportedResults {
  /** A day such as 2026-03-01. */
  since: string;
  count: number;
  passed: number;
  sources: readonly ReportedSource[];
}

interface ReportedSource {
  source_ip: string;
  /** Of the address, if it has one. */
  name: string | null;
  count: number;
  passed: number;
}

interface Published {
  /** The `p` of the record in DNS; undefined when there is no valid one. */
  published: DmarcPolicy | undefined;
  results: ReportedResults;
}

/** Fewer mails say nothing. */
const minMails = 100;
const maxSources = 5;
/** The next policy, and the part of the mail that must pass before it. */
const steps = {none: {next: 'quarantine', percent: 95}, quarantine: {next: 'reject', percent: 99}} as const;

export const adviceOf = ({published, results}: Published): string[] => {
  if (results.count === 0)
    return ['No verified report about this domain came in 30 days: keep the policy as it is until some do'];
  const {since, count, passed, sources} = results;
  // Rounded down: 94.9 % are not enough where 95 % are.
  const percent = Math.floor((100 * passed) / count);
  const passes = `${percent} % of your mail passes DMARC (${count} mails since ${since})`;
  if (published === undefined) return [`${passes}; publish the record with p=none`];
  if (count < minMails) return [`${passes}; stay with p=${published}: ${minMails} mails are needed for advice`];
  const failing = failingText(sources);
  if (published === 'reject') return [failing === '' ? passes : `${passes}; p=reject turns away mail of ${failing}`];

  const step = steps[published];
  if (percent >= step.percent) {
    const suffering = failing === '' ? '' : `; these sources would suffer: ${failing}`;
    return [`${passes}; move from p=${published} to p=${step.next}${suffering}`];
  }
  return [
    `${passes}; stay with p=${published} until ${failing === '' ? `${step.percent} % pass` : `these sources are authenticated: ${failing}`}`,
  ];
};

/** `192.0.2.7 (120 mails), …`: the sources with the most mail that fails. */
const failingText = (sources: readonly ReportedSource[]): string =>
  sources
    .map(({source_ip, name, count, passed}) => ({host: name ?? source_ip, failed: count - passed}))
    .filter(({failed}) => failed > 0)
    .toSorted((one, other) => other.failed - one.failed)
    .slice(0, maxSources)
    .map(({host, failed}) => `${host} (${failed} mail${failed === 1 ? '' : 's'})`)
    .join(', ');
