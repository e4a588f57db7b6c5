// Sample mail for the sample domains: some wanted, some held for each of the four reasons, some refused.
import {sendMail} from '../helpers/smtp-client.ts';

interface SampleMail {
  from: string;
  to: string;
  subject: string;
  /** The result of a filter in front of the node, in Rspamd's format: the built-in scorer accepts it from loopback. */
  found: string;
  text: string;
}

const samples: SampleMail[] = [
  {
    from: 'orders@mill.example',
    to: 'olga@bakery.example',
    subject: 'Two sacks of rye on Thursday',
    found: 'default: False [0.40 / 15.00]; MIME_GOOD(-0.10)[text/plain]; R_SPF_SOFTFAIL(0.50)[]',
    text: 'We will be there at six.',
  },
  {
    from: 'win@prizes.example',
    to: 'olga@bakery.example',
    subject: 'You have won a cruise',
    found: 'default: True [8.20 / 15.00]; BAYES_SPAM(5.10)[99.9%]; SUBJ_ALL_CAPS(3.10)[]',
    text: 'Answer today, only three cabins are left.',
  },
  {
    from: 'security@bank-login.example',
    to: 'reception@clinic.example',
    subject: 'Your account has been limited',
    found: 'default: True [8.00 / 15.00]; PHISHING(6.00)[bank.example->login.example]; HFILTER_URL_ONLY(2.00)[]',
    text: 'Confirm who you are: http://login.example/confirm',
  },
  {
    from: 'offers@bulk.example',
    to: 'head@school.example',
    subject: 'Toner at half the price',
    found: 'default: True [11.50 / 15.00]; RBL_SPAMHAUS_SBL(7.00)[192.0.2.66:from]; BAYES_SPAM(4.50)[97%]',
    text: 'Every printer, every colour.',
  },
  {
    from: 'billing@courier.example',
    to: 'accounts@clinic.example',
    subject: 'Invoice 40-1177',
    found: 'default: False [1.50 / 15.00]; HAS_ATTACHMENT(0.50)[]; MIME_HTML_ONLY(1.00)[]',
    text: 'The invoice is attached.',
  },
  {
    from: 'scan@copier.example',
    to: 'head@school.example',
    subject: 'Scanned document',
    found: 'default: True [12.00 / 15.00]; CLAM_VIRUS(12.00)[Doc.Dropper.Sample]',
    text: 'There was a virus here; in this demo there is none.',
  },
  {
    from: 'cash@loans.example',
    to: 'teachers@school.example',
    subject: 'Money within the hour',
    found: 'default: False [2.00 / 15.00]; FREEMAIL_FROM(2.00)[]',
    text: 'No questions asked.',
  },
  {
    from: 'pills@pharma.example',
    to: 'olga@bakery.example',
    subject: 'All without prescription',
    found: 'default: True [27.00 / 15.00]; URIBL_BLACK(15.00)[pharma.example:url]; BAYES_SPAM(12.00)[100%]',
    text: 'http://pharma.example/',
  },
  {
    from: 'parents@school.example',
    to: 'reception@clinic.example',
    subject: 'Vaccination day',
    found: 'default: False [-0.10 / 15.00]; MIME_GOOD(-0.10)[text/plain]',
    text: 'Forty-two children, as agreed.',
  },
];

export const sampleCount = samples.length;

/** Sends the `n`-th mail of an endless sequence to one node. Resolves with the result in one line. */
export const sendSample = async (n: number, port: number): Promise<string> => {
  const sample = samples[n % samples.length] as SampleMail;
  const raw = [
    `X-Spamd-Result: ${sample.found}`,
    `From: <${sample.from}>`,
    `To: <${sample.to}>`,
    `Subject: ${sample.subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <demo.${Date.now()}.${n}@${sample.from.split('@')[1]}>`,
    '',
    sample.text,
    '',
  ].join('\r\n');
  const {reply} = await sendMail({port, from: sample.from, to: sample.to, raw});
  return `${reply.code} ${sample.to}  ${sample.subject}  (${reply.text.split('\n')[0]})`;
};
