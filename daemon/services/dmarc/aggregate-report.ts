// Aggregate report about one policy domain and UTC day (RFC 9990).
import {createHash} from 'node:crypto';
import type {PublishedPolicy} from '../intake/dmarc-outcome.ts';
import type {CountedMail} from './counted-mail.ts';
import type {NodeCount, ReportSubject} from './dmarc-store.ts';

export interface Reporter {
  /** The address that reports come from. */
  from: string;
  organisation: string;
  /** How to reach the people of the organisation. */
  contact: string | undefined;
  /** Name and version of the program. */
  generator: string;
}

/**
 * `<day>.<policy domain>.<8 hex>@<domain of the reporter>`. The digits are a digest of what the report counts: whoever sends it again
 * uses the same id, and a report of other counts of that day has another one.
 */
export const reportId = (
  {day, policy_domain}: ReportSubject,
  counts: readonly NodeCount[],
  {from}: Pick<Reporter, 'from'>,
): string => {
  // A batch is counted once. Two batches may count the same mails.
  const lines = counts.map(({digest, origin, batch, count}) => `${digest} ${origin} ${batch} ${count}\n`);
  const digest = createHash('sha256').update(lines.toSorted().join('')).digest('hex').slice(0, 8);
  return `${day}.${policy_domain}.${digest}@${domainPart(from)}`;
};

/** First and last second of the day, since the epoch. */
export const secondsOf = (day: string): {begin: number; end: number} => {
  const begin = Date.parse(`${day}T00:00:00Z`) / 1000;
  return {begin, end: begin + 86_399};
};

export const domainPart = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** The policy that applied last; undefined without counts. */
export const lastPolicy = (counts: readonly NodeCount[]): PublishedPolicy | undefined => {
  const [latest] = counts.toSorted((one, other) => (one.seen_at < other.seen_at ? 1 : -1));
  return latest?.policy ?? undefined;
};

export const aggregateReport = (
  {id, day}: {id: string; day: string},
  {counts, policy}: {counts: readonly NodeCount[]; policy: PublishedPolicy},
  reporter: Reporter,
): string => {
  const {begin, end} = secondsOf(day);
  const {domain, record} = policy;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">\n',
    element('version', '1.0'),
    element('report_metadata', [
      element('org_name', reporter.organisation),
      element('email', reporter.from),
      element('extra_contact_info', reporter.contact),
      element('report_id', id),
      element('date_range', [element('begin', begin), element('end', end)]),
      element('generator', reporter.generator),
    ]),
    element('policy_published', [
      element('domain', domain),
      element('discovery_method', 'treewalk'),
      element('p', record.p),
      element('sp', record.sp),
      element('np', record.np),
      element('fo', record.fo),
      element('adkim', record.isDkimStrict ? 's' : 'r'),
      element('aspf', record.isSpfStrict ? 's' : 'r'),
      element('testing', record.isTesting ? 'y' : 'n'),
    ]),
    ...merged(counts).map(recordElement),
    '</feedback>\n',
  ].join('');
};

type Counted = CountedMail & {count: number};

/** Domains that receive, and nodes, are not part of a report. */
const merged = (counts: readonly NodeCount[]): Counted[] => {
  const sums = new Map<string, Counted>();
  for (const {count, ...mail} of counts) {
    const {source_ip, disposition, dkim_aligned, spf_aligned, details} = mail;
    const key = JSON.stringify([source_ip, disposition, dkim_aligned, spf_aligned, details]);
    sums.set(key, {...mail, count: (sums.get(key)?.count ?? 0) + count});
  }
  return [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, counted]) => counted);
};

const recordElement = ({source_ip, count, disposition, dkim_aligned, spf_aligned, details}: Counted): string => {
  const {header_from, envelope_from, dkim, spf, override} = details;
  return element('record', [
    element('row', [
      element('source_ip', source_ip),
      element('count', count),
      element('policy_evaluated', [
        element('disposition', disposition),
        element('dkim', dkim_aligned ? 'pass' : 'fail'),
        element('spf', spf_aligned ? 'pass' : 'fail'),
        override === null ? '' : element('reason', [element('type', override), element('comment', comments[override])]),
      ]),
    ]),
    // RFC 5321 has senders without a domain, those of bounces.
    element('identifiers', [element('header_from', header_from), element('envelope_from', envelope_from)]),
    element('auth_results', [
      ...dkim.map(({domain, selector, result}) =>
        element('dkim', [element('domain', domain), element('selector', selector), element('result', result)]),
      ),
      spf.domain === ''
        ? ''
        : element('spf', [element('domain', spf.domain), element('scope', 'mfrom'), element('result', spf.result)]),
    ]),
  ]);
};

const comments = {
  local_policy: undefined,
  policy_test_mode: undefined,
  other: 'DNS gave no answer to some questions',
} as const;

/** Nothing for a text that is undefined. Children are indented. */
const element = (name: string, content: string | number | readonly string[] | undefined): string => {
  if (content === undefined) return '';
  if (typeof content !== 'object') return `<${name}>${escaped(String(content))}</${name}>\n`;
  const children = content.join('').replaceAll(/^(?=.)/gm, '  ');
  return `<${name}>\n${children}</${name}>\n`;
};

/** XML 1.0 has no control characters but tabs and line ends, and texts here have none of these either. */
const escaped = (text: string): string =>
  text.replaceAll(/\p{C}/gu, '\ufffd').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
