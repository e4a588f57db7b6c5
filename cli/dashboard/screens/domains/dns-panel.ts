// DNS records of a domain: which are not right in the panel, all of them on a page.
import type {DnsRecord, DnsState, DomainDns} from '../../../../shared/domain-dns.ts';
import {undefinedIfNotFound} from '../../../errors.ts';
import {plural} from '../../../output/cell-text.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {type DetailPair, detailPage} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Source} from '../../shell/source.ts';
import type {Style, Theme} from '../../shell/theme.ts';

/** Each reading asks DNS. */
const everyMs = 60_000;

/** Undefined if a node of an earlier version does not report it. */
export const dnsSource = ({client, source}: AppContext, id: number): Source<DomainDns | undefined> =>
  source(`dns of ${id}`, {
    load: async () => (await client.domains.dns(id, {check: true}).catch(undefinedIfNotFound))?.data,
    refreshOn: ['domain'],
    everyMs,
    whileLiveMs: everyMs,
  });

export const dnsPairs = (dns: DomainDns | undefined): DetailPair[] => {
  if (!dns) return [];
  const wrong = dns.records.filter(({state}) => state !== 'right');
  if (wrong.length === 0) return [['DNS', `${plural(dns.records.length, 'record')}, all right`, 'good']];
  const [first] = wrong;
  const text =
    wrong.length === 1 && first
      ? stateText(first)
      : `${wrong.map(({kind, state}) => `${kind} ${state}`).join(', ')}; n shows them`;
  return [['DNS', text, wrong.every(({state}) => state === 'unknown') ? 'warn' : 'bad']];
};

/** `spf differs: mail from nodes does not pass` */
const stateText = ({kind, state, detail}: DnsRecord): string => `${kind} ${state}${detail === '' ? '' : `: ${detail}`}`;

const styles: Record<DnsState, Style> = {right: 'good', missing: 'bad', differs: 'bad', unknown: 'warn'};
const styleOf = ({state}: DnsRecord): Style | undefined => (state === null ? undefined : styles[state]);

export const dnsPage = ({domain, records, advice}: DomainDns, theme: Theme): Page =>
  detailPage(
    `DNS records of ${domain}`,
    [
      ...records.flatMap((record): DetailPair[] => [
        [record.name, stateText(record), styleOf(record)],
        ...(record.state === 'right' ? [] : record.values.map((value): DetailPair => ['  wanted', `${record.type} ${value}`])),
        ...(record.state === 'differs' ? record.found.map((value): DetailPair => ['  found', `${record.type} ${value}`]) : []),
      ]),
      ...advice.map((sentence): DetailPair => ['Advice', sentence]),
    ],
    theme,
  );
