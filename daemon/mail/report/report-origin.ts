// Origin of a report: the domain in From, which SPF or DKIM may verify.
import {domainOf} from '../../../shared/mail-address.ts';
import type {ReportOrigin} from '../../services/dmarc/report-inbox.ts';
import {networkOf} from '../../services/dmarc/reported-view.ts';
import type {Judgement, ReceivedMail} from '../../services/intake/mail.ts';
import {authorsOf} from '../authentication/author-domains.ts';

export const reportOriginOf = ({headers, envelope, client}: ReceivedMail, {verified}: Judgement): ReportOrigin => {
  const network = networkOf(client.ip);
  const author = verified?.dmarc.author;
  if (author !== undefined && verified && verified.dmarc.aligned.length > 0) return {domain: author, isVerified: true, network};
  return {domain: authorsOf(headers).domains[0] ?? domainOf(envelope.sender) ?? client.ip, isVerified: false, network};
};
