// Header fields that this node puts before a mail: the trace header, and below it the results of its authentication.
import type {HeaderField, Judgement, MailContent, ReceivedMail} from '../../services/intake/mail.ts';
import {withoutFields} from '../field-removal.ts';
import {traceHeader} from '../trace-header.ts';
import {createClaimCheck, resultsField} from './results-field.ts';

export const arrivalFields = (mail: ReceivedMail, {verified}: Pick<Judgement, 'verified'>, fqdn: string): Buffer => {
  const trace = traceHeader(mail, fqdn);
  return verified ? Buffer.concat([trace, resultsField(verified.results, mail, fqdn)]) : trace;
};

/** Takes out results that claim to be from one of our hosts: readers believe those of this cluster. See `createClaimCheck`. */
export const withoutClaims = async (
  content: MailContent,
  headers: readonly HeaderField[],
  isOurs: (host: string) => boolean,
): Promise<MailContent> => {
  return headers.some(createClaimCheck(isOurs)) ? withoutFields(content, createClaimCheck(isOurs)) : content;
};
