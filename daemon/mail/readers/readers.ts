// Reading that other people's packages do for the node, in processes that can be lost.
import {Fault} from '../../../shared/fault.ts';
import type {ReadReport} from '../../services/dmarc/received-report.ts';
import type {MailContent} from '../../services/intake/mail.ts';
import type {Lookup} from '../lookup.ts';
import {type CheckSender, spfDomain} from './check-sender.ts';
import type {SignatureCheck} from './check-signatures.ts';
import type {Known} from './protocol.ts';
import {createReaderPool, type PoolNeeds, ReaderLost} from './reader-pool.ts';
import type {SigningKey} from './sign-mail.ts';

/** `keys`: the names of the keys, as far as they are known. */
export type CheckSignatures = (content: MailContent, lookup: Lookup, keys: readonly string[]) => Promise<SignatureCheck>;

export interface Readers {
  checkSender: CheckSender;
  /** Rejects with a ReaderLost when the mail cannot be read. */
  checkSignatures: CheckSignatures;
  signMail(content: MailContent, keys: readonly SigningKey[]): Promise<Buffer>;
  readReport: ReadReport;
  close(): Promise<void>;
}

/** Packed reports of the highest size are a third larger in a mail. */
const maxReportMailBytes = 16 * 1024 * 1024;

export const createReaders = (needs: PoolNeeds): Readers => {
  const pool = createReaderPool(needs);
  return {
    checkSender: async (question, lookup) =>
      pool.read({kind: 'spf', question}, {lookup, known: await textsOf([spfDomain(question)], lookup)}).catch(error => {
        if (error instanceof ReaderLost) return 'permerror';
        throw error;
      }),
    async checkSignatures(content, lookup, keys) {
      // Of several records with one name the first counts.
      const known = (await textsOf(keys, lookup)).map(answer => ({...answer, records: answer.records.slice(0, 1)}));
      return pool.read({kind: 'signatures'}, {content, lookup, known});
    },
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

/** The first questions of a reader. It repeats those that were not answered. */
const textsOf = async (names: readonly string[], lookup: Lookup): Promise<Known[]> => {
  const answers = await Promise.all(
    names.map(async name => {
      const records = await lookup(name, 'TXT').catch(() => undefined);
      return records && {name: name.toLowerCase(), type: 'TXT' as const, records};
    }),
  );
  return answers.filter(answer => answer !== undefined);
};
