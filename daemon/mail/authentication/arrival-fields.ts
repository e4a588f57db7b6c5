// Header fields that this node puts before a mail: the trace header, and below it the results of its authentication.
import type {Judgement, ReceivedMail} from '../../services/intake/mail.ts';
import {traceHeader} from '../trace-header.ts';
import {resultsField} from './results-field.ts';

export const arrivalFields = (mail: ReceivedMail, {verified}: Pick<Judgement, 'verified'>, fqdn: string): Buffer => {
  const trace = traceHeader(mail, fqdn);
  return verified ? Buffer.concat([trace, resultsField(verified.results, mail, fqdn)]) : trace;
};
