// What is read by other people's packages, as the node asks for it. All of it is read in processes that can be lost.
import {Fault} from '../../../shared/fault.ts';
import type {ReadReport} from '../../services/dmarc/received-report.ts';
import type {CheckSender} from './check-sender.ts';
import type {CheckSignatures} from './check-signatures.ts';
import {createReaderPool, type PoolNeeds, ReaderLost} from './reader-pool.ts';
import type {SignMail} from './sign-mail.ts';

export interface Readers {
  checkSender: CheckSender;
  /** Rejects with a ReaderLost when the mail cannot be read. */
  checkSignatures: CheckSignatures;
  signMail: SignMail;
  readReport: ReadReport;
  close(): Promise<void>;
}

/** Packed reports of the highest size are a third larger in a mail. */
const maxReportMailBytes = 16 * 1024 * 1024;

export const createReaders = (needs: PoolNeeds): Readers => {
  const pool = createReaderPool(needs);
  return {
    checkSender: async (question, lookup) =>
      pool.read({kind: 'spf', question}, {lookup}).catch(error => {
        if (error instanceof ReaderLost) return 'permerror';
        throw error;
      }),
    checkSignatures: async (content, lookup) => pool.read({kind: 'signatures'}, {content, lookup}),
    async signMail(content, keys) {
      if (keys.length === 0) return Buffer.alloc(0);
      const fields = await pool.read({kind: 'sign', keys}, {content}).catch(cause => {
        throw new Fault('unavailable', 'The mail could not be signed; look at the DKIM keys of its domain', {cause});
      });
      return Buffer.from(fields, 'latin1');
    },
    async readReport(content, {maxUnpackedBytes, maxCpuMs}) {
      if (content.sizeBytes > maxReportMailBytes) return {unreadable: `the mail is larger than ${maxReportMailBytes} bytes`};
      return pool.read({kind: 'report', maxUnpackedBytes}, {content, maxMs: maxCpuMs}).catch(error => {
        if (!(error instanceof ReaderLost)) throw error;
        return {unreadable: error.reason === 'time' ? 'it took too long to read' : 'it needs too much memory to read'};
      });
    },
    close: pool.close,
  };
};
