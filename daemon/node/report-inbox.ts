// Reading of reports that are sent to this node, wired to the store and the readers.
import type {Readers} from '../mail/readers/readers.ts';
import {createReportInbox, type ReportInbox} from '../services/dmarc/report-inbox.ts';
import type {Base} from './base.ts';

export const openReportInbox = (
  {config, storage, records, now, log}: Pick<Base, 'config' | 'storage' | 'records' | 'now' | 'log'>,
  {readReport}: Readers,
): ReportInbox =>
  createReportInbox({
    addresses: config.dmarc.receive_at,
    store: storage.store,
    domains: records.domainDirectory,
    read: readReport,
    keepDays: config.dmarc.keep_days,
    now,
    log,
  });
