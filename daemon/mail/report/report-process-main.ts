// The process that reads one report: a mail comes in, and JSON goes out.
import {buffer} from 'node:stream/consumers';
import type {ReceivedReport, Unreadable} from '../../services/dmarc/received-report.ts';
import {unpackReport} from '../readers/report-attachment.ts';
import {parseReport} from '../readers/report-parser.ts';

/** Errors of the libraries quote from the mail. */
const maxReasonChars = 200;

const answerTo = async (mail: Buffer): Promise<ReceivedReport | Unreadable> => {
  try {
    return await parseReport(await unpackReport(mail));
  } catch (error) {
    return {unreadable: (error instanceof Error ? error.message : String(error)).slice(0, maxReasonChars)};
  }
};

process.stdout.write(JSON.stringify(await answerTo(await buffer(process.stdin))));
