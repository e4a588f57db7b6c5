// Mail with an aggregate report (RFC 9990 section 3.5).
import {promisify} from 'node:util';
import {gzip} from 'node:zlib';
import {domainPart, secondsOf} from '../../services/dmarc/aggregate-report.ts';
import type {StoredReport} from '../../services/dmarc/dmarc-store.ts';

interface Parts {
  report: Pick<StoredReport, 'id' | 'day' | 'policy_domain' | 'created_at'>;
  xml: string;
  from: string;
  to: string;
}

/** The same bytes each time, so that a repeat is known as one. */
export const reportMail = async ({report, xml, from, to}: Parts): Promise<Buffer> => {
  const {id, day, policy_domain, created_at} = report;
  const {default: MailComposer} = await import('nodemailer/lib/mail-composer');
  const submitter = domainPart(from);
  const {begin, end} = secondsOf(day);
  const uniqueId = id.slice(0, id.lastIndexOf('@')).split('.').at(-1);
  const composed = new MailComposer({
    from,
    to,
    date: new Date(created_at),
    messageId: `<${id}>`,
    subject: `Report Domain: ${policy_domain} Submitter: ${submitter} Report-ID: <${id}>`,
    headers: {'Auto-Submitted': 'auto-generated'},
    baseBoundary: uniqueId,
    text: `This is the aggregate report of DMARC about mail from ${policy_domain}\nthat ${submitter} received on ${day} (UTC).\n`,
    attachments: [
      {
        filename: `${submitter}!${policy_domain}!${begin}!${end}!${uniqueId}.xml.gz`,
        content: await promisify(gzip)(xml),
        contentType: 'application/gzip',
      },
    ],
  });
  return composed.compile().build();
};
