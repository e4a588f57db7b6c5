// Command `domain dns`: the DNS records of a domain, as lines of a zone file or compared with DNS.
import type {Command} from 'commander';
import type {DnsRecord, DnsState, DomainDns} from '../../shared/domain-dns.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {ExitStatus, exitCodes} from '../errors.ts';
import {zoneLine} from '../output/cell-text.ts';
import type {Column, Tone} from '../output/column.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';
import {findDomainId} from './find-domain.ts';

const tones: Record<DnsState, Tone> = {right: 'good', missing: 'bad', differs: 'bad', unknown: 'warn'};

const columns: Column<DnsRecord>[] = [
  {title: 'RECORD', cell: ({kind}) => kind},
  {title: 'NAME', cell: ({name}) => name, dropRank: 1},
  {title: 'STATE', cell: ({state}) => state, tone: ({state}) => (state === null ? undefined : tones[state])},
  {title: 'DETAIL', cell: ({detail}) => detail, isFlexible: true},
  {title: 'WANTED', cell: ({values}) => values.join(', '), isWideOnly: true},
  {title: 'FOUND', cell: ({found}) => found.join(', '), isWideOnly: true},
];

const dnsRecords: Listed<DnsRecord> = {
  fields: ['kind', 'name', 'type', 'values', 'state', 'found', 'detail'],
  answerFields: ['domain', 'records', 'mta_sts_policy', 'advice'],
  nameOf: ({name}) => name,
  columns,
};

export const addDnsCommand = (domain: Command, session: Session): void => {
  session
    .prints(domain.command('dns'), dnsRecords)
    .description('print the DNS records that a domain should have, or compare them with DNS')
    .argument('<domain>', 'name or id')
    .option('--check', 'ask DNS; the exit status is 1 when a record is not right')
    .addHelpText('after', help)
    .action(async (nameOrId: string, {check = false}: {check?: boolean}) => {
      const client = await session.client();
      const {data} = await client.domains.dns(await findDomainId(client, nameOrId), {check});
      const printer = session.printer();
      if (!check && printer.format === 'table') return printer.text(zoneText(data));

      printer.list(data.records, dnsRecords, {value: data});
      const wrong = data.records.filter(({state}) => state !== null && state !== 'right');
      for (const line of wrong.flatMap(wantedLines)) printer.note(line);
      for (const advice of data.advice) printer.note(advice);
      if (wrong.length > 0) throw new ExitStatus(exitCodes.failed);
    });
};

const help = `
Without --check the output is for a zone file: records, and what to know about them after ";".
With it, a record is right if it means the same as the one here, even if it is written differently.
MX records must name the nodes and nothing else, and SPF must let the nodes send and not everybody.

Examples:
  mfctl domain dns example.com >> example.com.zone
  mfctl domain dns example.com --check`;

/** `wanted: example.com. IN MX 10 mx1.example.net.` */
const wantedLines = (record: DnsRecord): string[] =>
  record.state === 'unknown' ? [] : zoneLines(record).map(line => `wanted: ${line}`);

const zoneLines = ({name, type, values}: DnsRecord): string[] =>
  values.map(value => {
    if (!hostName.test(name)) return notOne(`${name} ${value}`);
    if (type === 'TXT') return zoneLine({dns_name: name, dns_record: safeLine(value)});
    return type === 'MX' && exchanger.test(value) ? `${name}. IN MX ${value}` : notOne(`${name} ${value}`);
  });

const hostName = /^[a-z0-9._-]{1,253}$/i;
const exchanger = /^\d{1,5} [a-z0-9._-]{1,254}$/i;

/** The output goes into zone files: what a node says in place of a record must not become one there. */
const notOne = (text: string): string => comment(`not a record: ${text}`);

/** A node's text stays in one line, and in a comment. */
const comment = (text: string): string => `; ${safeLine(text)}`;

const zoneText = ({domain, records, mta_sts_policy, advice}: DomainDns): string =>
  [
    comment(`DNS records of ${domain}`),
    ...advice.map(comment),
    ...records.flatMap(zoneLines),
    ...(mta_sts_policy === null
      ? []
      : [
          comment(
            `Serve this file at https://mta-sts.${domain}/.well-known/mta-sts.txt, and use mode: enforce once TLS reports show no failures:`,
          ),
          ...mta_sts_policy
            .trimEnd()
            .split('\n')
            .map(line => comment(`  ${line}`)),
        ]),
    '',
  ].join('\n');
