// Reading of reports that are sent to this node, wired to the store and the readers.
import type {Readers} from '../mail/readers/readers.ts';
import {createReportInbox, type ReportInbox} from '../services/dmarc/report-inbox.ts';
import type {Base} from './base.ts';

export const openReportInbox = (
  {settings, storage, records, now, log}: Pick<Base, 'settings' | 'storage' | 'records' | 'now' | 'log'>,
  {readReport}: Readers,
): ReportInbox =>
  createReportInbox({
    addresses: () => settings().dmarc.receive_at,
    store: storage.store,
    domains: records.domainDirectory,
    read: readReport,
    keepDays: () => settings().dmarc.keep_days,
    now,
    log,
  });
