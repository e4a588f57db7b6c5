// Reading of reports that are sent to this node, wired to the store and the process that reads them.
import {createReportProcess} from '../mail/report/report-process.ts';
import {createReportInbox, type ReportInbox} from '../services/dmarc/report-inbox.ts';
import type {Base} from './base.ts';

/** The file of the process, beside this one; see bin/build.mjs. */
declare const REPORT_PROCESS: string;

export const openReportInbox = ({
  config,
  storage,
  records,
  now,
  log,
}: Pick<Base, 'config' | 'storage' | 'records' | 'now' | 'log'>): ReportInbox =>
  createReportInbox({
    addresses: config.dmarc.receive_at,
    store: storage.store,
    domains: records.domainDirectory,
    read: createReportProcess(new URL(`./${REPORT_PROCESS}`, import.meta.url)),
    keepDays: config.dmarc.keep_days,
    now,
    log,
  });
