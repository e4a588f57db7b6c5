// Advice about the DMARC policy of a domain, from what other servers report about its mail. Anybody can send a report, with any numbers:
// so each organisation has one vote, whatever the volume that it claims, and it takes several of them.
import {groupBy} from '../../../shared/collections.ts';
import {sourceText} from '../../../shared/dmarc-lists.ts';
import type {DmarcPolicy} from '../../../shared/mail-authentication.ts';
import type {PublicSuffixes} from '../public-suffixes.ts';

/** What receivers elsewhere report about the mail of a domain. */
export interface ReportedResults {
  /** A day such as 2026-03-01. */
  since: string;
  count: number;
  reporters: readonly Reporter[];
  sources: readonly ReportedSource[];
}

interface Reporter {
  /** The domain that reports come from, verified. */
  reporter: string;
  count: number;
  passed: number;
}

interface ReportedSource {
  source_ip: string;
  /** Of the address, if it has one. */
  name: string | null;
  count: number;
  passed: number;
  /** Who says so, some of them. */
  reporters: readonly Pick<Reporter, 'reporter'>[];
}

interface Published extends Pick<PublicSuffixes, 'organizationOf'> {
  /** The `p` of the record in DNS; undefined when there is no valid one. */
  published: DmarcPolicy | undefined;
  results: ReportedResults;
}

/** Fewer mails say nothing. */
const minMails = 100;
/** An organisation that saw fewer mails has no vote: one forged mail would be all that it knows of. */
const minMailsOfOne = 10;
const minOrganizations = 3;
const maxSources = 5;
/** The next policy, and the part of the mail that must pass before it. */
const steps = {none: {next: 'quarantine', percent: 95}, quarantine: {next: 'reject', percent: 99}} as const;

export const adviceOf = ({published, results, organizationOf}: Published): string[] => {
  if (results.count === 0)
    return ['No verified report about this domain came in 30 days: keep the policy as it is until some do'];
  const {since, count, reporters, sources} = results;
  const stay = published === undefined ? 'publish the record with p=none' : `stay with p=${published}`;
  const shares = sharesOf(reporters, organizationOf);
  if (shares.length < minOrganizations)
    return [
      `${saidBy(shares.length)} about ${minMailsOfOne} mails or more of this domain since ${since}, which is too little for advice; ${stay}: ${minOrganizations} independent ones are needed`,
    ];
  // Rounded down: 94.9 % are not enough where 95 % are.
  const percent = Math.floor(100 * mean(shares));
  const passes = `${percent} % of your mail passes DMARC (${count} mails since ${since})`;
  if (published === undefined) return [`${passes}; ${stay}`];
  if (count < minMails) return [`${passes}; ${stay}: ${minMails} mails are needed for advice`];
  const failing = failingText(sources, organizationOf);
  if (published === 'reject') return [failing === '' ? passes : `${passes}; p=reject turns away mail of ${failing}`];

  const step = steps[published];
  if (percent >= step.percent) {
    const suffering = failing === '' ? '' : `; these sources would suffer: ${failing}`;
    return [`${passes}; move from p=${published} to p=${step.next}${suffering}`];
  }
  return [
    `${passes}; ${stay} until ${failing === '' ? `${step.percent} % pass` : `these sources are authenticated: ${failing}`}`,
  ];
};

const saidBy = (organizations: number): string => {
  if (organizations === 0) return 'No organisation reports';
  return organizations === 1 ? '1 organisation reports' : `${organizations} organisations report`;
};

/** The part of the mail that passes, as each organisation says. */
const sharesOf = (reporters: readonly Reporter[], organizationOf: Published['organizationOf']): number[] =>
  [...groupBy(reporters, ({reporter}) => organizationOf(reporter)).values()].flatMap(all => {
    const count = sumOf(all.map(one => one.count));
    return count < minMailsOfOne ? [] : [sumOf(all.map(one => one.passed)) / count];
  });

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

const mean = (numbers: readonly number[]): number => sumOf(numbers) / numbers.length;

/** `192.0.2.7 (120 mails), …`: the sources of failing mail that the most organisations name, and of these those with the most. */
const failingText = (sources: readonly ReportedSource[], organizationOf: Published['organizationOf']): string =>
  sources
    .map(({source_ip, name, count, passed, reporters}) => ({
      host: name ?? sourceText(source_ip),
      failed: count - passed,
      organizations: new Set(reporters.map(({reporter}) => organizationOf(reporter))).size,
    }))
    .filter(({failed}) => failed > 0)
    .toSorted((one, other) => other.organizations - one.organizations || other.failed - one.failed)
    .slice(0, maxSources)
    .map(({host, failed}) => `${host} (${failed} mail${failed === 1 ? '' : 's'})`)
    .join(', ');
