// Reading of reports that are sent to this node, wired to the store and the thread that reads them.
import {createReportThread} from '../mail/report/report-thread.ts';
import {createReportInbox, type ReportInbox} from '../services/dmarc/report-inbox.ts';
import type {Base} from './base.ts';

/** The file of the thread, beside this one; see bin/build.mjs. */
declare const REPORT_THREAD: string;

export const openReportInbox = ({
  config,
  storage,
  records,
  now,
}: Pick<Base, 'config' | 'storage' | 'records' | 'now'>): ReportInbox =>
  createReportInbox({
    addresses: config.dmarc.receive_at,
    store: storage.store,
    domains: records.domainDirectory,
    read: createReportThread(new URL(`./${REPORT_THREAD}`, import.meta.url)),
    keepDays: config.dmarc.keep_days,
    now,
  });
