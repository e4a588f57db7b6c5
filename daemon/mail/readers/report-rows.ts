// Rows of an aggregate report, summed up by address and domain in From.
import {isIP} from 'node:net';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {canonicalHost} from '../../../shared/host-port.ts';
import type {ReceivedReport, ReportedSource} from '../../services/dmarc/received-report.ts';

/** The sums of a year of reports stay whole numbers. */
const maxCount = 1_000_000_000;

/** One `record`, as far as it has been read. */
export interface Row {
  source_ip: string;
  count: string;
  header_from: string;
  isSpfAligned: boolean;
  isDkimAligned: boolean;
  isSpfPassed: boolean;
  isDkimPassed: boolean;
}

export const newRow = (): Row => ({
  source_ip: '',
  count: '',
  header_from: '',
  isSpfAligned: false,
  isDkimAligned: false,
  isSpfPassed: false,
  isDkimPassed: false,
});

/** Rows that cannot be read are left out and counted. */
export const createRows = (maxSources: number) => {
  const byName = new Map<string, Map<string, ReportedSource>>();
  let total = 0;
  let size = 0;
  let good = 0;
  let bad = 0;
  let problem = '';

  const sourceOf = (header_from: string, address: string): ReportedSource => {
    const source_ip = canonicalHost(address);
    const byAddress = byName.get(header_from) ?? new Map<string, ReportedSource>();
    byName.set(header_from, byAddress);
    const known = byAddress.get(source_ip);
    if (known) return known;
    size += 1;
    if (size > maxSources) throw new Error(`it has more than ${maxSources} sources`);
    const source = {header_from, source_ip, ...nothing};
    byAddress.set(source_ip, source);
    return source;
  };
  const problemOf = ({source_ip}: Row, count: number | undefined): string | undefined => {
    if (count === undefined) return 'its count is not a whole number';
    if (total + count > maxCount) return `it counts more than ${maxCount} mails`;
    return isIP(source_ip) === 0 ? 'a record has no address in source_ip' : undefined;
  };

  return {
    add(row: Row): void {
      const count = wholeNumber(row.count);
      const wrong = problemOf(row, count);
      if (wrong !== undefined || count === undefined) {
        bad += 1;
        problem ||= wrong ?? '';
        return;
      }
      good += 1;
      total += count;
      const header_from = canonicalDomain(row.header_from);
      // A forger chooses what is in From, and receivers report it unchanged. No domain here has such a name.
      if (header_from !== undefined) addTo(sourceOf(header_from, row.source_ip), row, count);
    },
    /** Throws when there are bad rows only: then the report as a whole cannot be read. */
    result(): Pick<ReceivedReport, 'sources' | 'bad_rows'> {
      if (bad > 0 && good === 0) throw new Error(problem);
      return {sources: [...byName.values()].flatMap(byAddress => [...byAddress.values()]), bad_rows: bad};
    },
  };
};

const addTo = (source: ReportedSource, row: Row, count: number): void => {
  source.count += count;
  if (row.isSpfAligned || row.isDkimAligned) source.passed += count;
  if (row.isSpfPassed) source.spf_passed += count;
  if (row.isSpfAligned) source.spf_aligned += count;
  if (row.isDkimPassed) source.dkim_passed += count;
  if (row.isDkimAligned) source.dkim_aligned += count;
};

const nothing = {count: 0, passed: 0, spf_passed: 0, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0};

/** Some write `1337270400.0`. */
export const wholeNumber = (text: string): number | undefined => (/^\d{1,12}(\.0{1,9})?$/.test(text) ? Number(text) : undefined);
