// Mails with aggregate reports of other receivers, in the forms that they are sent in.
import {gzipSync} from 'node:zlib';

interface ReportRow {
  ip: string;
  count?: number;
  from?: string;
  spf?: 'pass' | 'fail';
  dkim?: 'pass' | 'fail';
  /** Of SPF and DKIM for whatever domain; as for the domain in From without it. */
  spfResult?: string;
  dkimResult?: string;
}

interface ReportFields {
  organisation?: string;
  id?: string;
  domain?: string;
  begin?: number | string;
  end?: number | string;
  rows?: readonly ReportRow[];
}

const dayMs = 86_400_000;
/** First second of yesterday. */
export const yesterday = Math.floor(Date.now() / dayMs) * 86_400 - 86_400;

const rowXml = ({ip, count = 1, from = 'example.com', spf = 'pass', dkim = 'pass', ...results}: ReportRow): string => `<record>
  <row><source_ip>${ip}</source_ip><count>${count}</count>
    <policy_evaluated><disposition>none</disposition><dkim>${dkim}</dkim><spf>${spf}</spf></policy_evaluated></row>
  <identifiers><envelope_from>${from}</envelope_from><header_from>${from}</header_from></identifiers>
  <auth_results>
    <dkim><domain>${from}</domain><selector>s1</selector><result>${results.dkimResult ?? dkim}</result></dkim>
    <spf><domain>${from}</domain><scope>mfrom</scope><result>${results.spfResult ?? spf}</result></spf>
  </auth_results>
</record>`;

/** In the form of RFC 7489, which most receivers still send. */
export const receivedXml = ({
  organisation = 'Receiver',
  id = '1',
  domain = 'example.com',
  begin = yesterday,
  end = yesterday + 86_399,
  rows = [{ip: '192.0.2.1'}],
}: ReportFields = {}): string => `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <report_metadata><org_name>${organisation}</org_name><email>noreply@receiver.test</email><report_id>${id}</report_id>
    <date_range><begin>${begin}</begin><end>${end}</end></date_range></report_metadata>
  <policy_published><domain>${domain}</domain><adkim>r</adkim><aspf>r</aspf><p>none</p><pct>100</pct></policy_published>
  ${rows.map(rowXml).join('\n')}
</feedback>`;

interface MailParts {
  from?: string;
  to?: string;
  type?: string;
  name?: string;
}

/** A mail with one attachment. */
export const mailWith = (
  attachment: Uint8Array,
  {from = 'noreply@receiver.test', to = 'dmarc@example.com', type = 'application/gzip', name = 'report.xml.gz'}: MailParts = {},
): Buffer =>
  Buffer.from(
    [
      ...[`From: ${from}`, `To: ${to}`, 'Subject: Report Domain: example.com', 'MIME-Version: 1.0'],
      ...['Content-Type: multipart/mixed; boundary=part', '', '--part', 'Content-Type: text/plain', '', 'A report.', '--part'],
      ...[`Content-Type: ${type}`, 'Content-Transfer-Encoding: base64', `Content-Disposition: attachment; filename="${name}"`],
      ...['', Buffer.from(attachment).toString('base64').replace(/.{76}/g, '$&\r\n'), '--part--', ''],
    ].join('\r\n'),
  );

/** A mail with such a report, packed. */
export const reportMailOf = (fields: ReportFields = {}, parts: MailParts = {}): Buffer =>
  mailWith(gzipSync(receivedXml(fields)), parts);
