// Honest mail with a signature and forged mail without a valid one, and what a node finds out about them.
import {signMail} from '../../daemon/mail/readers/sign-mail.ts';
import {dkimRecord, generateDkimKey} from '../../daemon/services/domains/domain-parts.ts';
import type {ZoneRecords} from '../helpers/dns-zone.ts';
import type {MailNode} from '../helpers/mail-node.ts';
import {connectPeer, type MilterAnswer} from '../helpers/milter.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {fieldsIn} from './hostile-mail-fields.ts';

export interface AuthenticMail {
  /** Records of the domains that the mails come from; undefined for all other names. */
  recordsOf(name: string): ZoneRecords | undefined;
  /** Raw mail, by the number of the domain that it claims to come from: answers are not those that a node has kept. */
  honest(n: number): Promise<Letter>;
  forged(n: number): Promise<Letter>;
}

export interface Letter {
  sender: string;
  raw: string;
  /** Given by a Postfix that has it. */
  queueId: string;
}

const selector = 's1';

export const createAuthenticMail = async (): Promise<AuthenticMail> => {
  const pair = await generateDkimKey('ed25519');
  const key = {algorithm: 'ed25519' as const, private_key_pem: pair.private_key_pem};
  const record = dkimRecord({algorithm: 'ed25519', ...pair});
  const letter = async (from: string, absent?: string): Promise<Letter> => {
    const mail = Buffer.from(`From: news@${from}\r\nSubject: hello\r\n\r\nhello\r\n`);
    const signature = await signMail(mail, [{...key, domain: from, selector: absent ?? selector}]);
    return {
      sender: `x@${from}`,
      queueId: `Authentic${from.replace(/\W/g, '')}`,
      raw: `${signature.toString('latin1')}${mail.toString('latin1')}`,
    };
  };

  return {
    recordsOf(name) {
      // The clients of the tests: over SMTP, and as the milter is told.
      if (/^h\d+\.good\.test$/.test(name)) return {TXT: ['v=spf1 ip4:127.0.0.1 ip4:192.0.2.5 -all']};
      if (/^b\d+\.bank\.test$/.test(name)) return {TXT: ['v=spf1 -all']};
      if (/^_dmarc\.(h\d+\.good|b\d+\.bank)\.test$/.test(name)) return {TXT: ['v=DMARC1; p=reject']};
      if (new RegExp(`^${selector}\\._domainkey\\.h\\d+\\.good\\.test$`).test(name)) return {TXT: [record]};
      return undefined;
    },
    honest: async n => letter(`h${n}.good.test`),
    // With a key that is nowhere, of a selector that was never used.
    forged: async n => letter(`b${n}.bank.test`, `absent${n}`),
  };
};

/** Sends both over SMTP and through the milter; rejects unless each is found to be what it is. */
export const createAuthenticSender = ({mail, ...ways}: Ways & {mail: AuthenticMail}): (() => Promise<void>) => {
  const found: Record<string, string> = {};
  let sent = 0;
  const check = (what: string, results: string, wanted: RegExp): void => {
    const general = results.replace(/\b[hb]\d+\.|\babsent\d+/g, '');
    if (!wanted.test(results)) throw new Error(`${what}: ${results}`);
    found[what] ??= general;
    if (general !== found[what]) throw new Error(`${what}: ${general} instead of ${found[what]}`);
  };

  return async () => {
    sent += 1;
    const [honest, forged] = [await mail.honest(sent), await mail.forged(sent)];
    check('honest over SMTP', await relayed(ways, honest), isHonest);
    check('honest through the milter', await throughMilter(ways, honest, 'a'), isHonest);
    check('forged over SMTP', await held(ways, forged), isForged);
    check('forged through the milter', await throughMilter(ways, forged, 'qa'), isForged);
  };
};

const isHonest = /; spf=pass .*; dkim=pass .*; dmarc=pass \(p=reject\)/;
const isForged = /^(?!.*\w=pass)(?=.*; dkim=).*; dmarc=fail \(p=reject\)/;

interface Ways {
  node: MailNode;
  /** Path of a socket. */
  milter: string;
  /** Name of a domain. */
  domain: string;
  takeContent(queueId: string): string | undefined;
}

const overSmtp = async ({node, domain}: Ways, {sender, raw}: Letter): Promise<string> => {
  const {reply} = await sendMail({port: node.smtpPort, from: sender, to: `ben@${domain}`, raw});
  const queueId = /queued as (\w+)/.exec(reply.text)?.[1];
  if (reply.code !== 250 || queueId === undefined)
    throw new Error(`a mail from ${sender} was answered ${reply.code} ${reply.text}`);
  return queueId;
};

const relayed = async (ways: Ways, letter: Letter): Promise<string> => {
  const queueId = await overSmtp(ways, letter);
  const content = ways.takeContent(queueId);
  if (content === undefined) throw new Error(`${queueId} from ${letter.sender} did not arrive`);
  return resultsIn(content);
};

const held = async (ways: Ways, letter: Letter): Promise<string> => {
  const {node} = ways;
  const path = `mail/quarantine/${node.node_id}/${await overSmtp(ways, letter)}`;
  const {status, body} = await node.api('GET', `${path}/body`);
  if (status !== 200) throw new Error(`a forged mail from ${letter.sender} is not held: ${status}`);
  await node.api('POST', `${path}/discard`);
  return resultsIn(body.toString('latin1'));
};

const resultsIn = (content: string): string =>
  content
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .filter(line => line.startsWith('Authentication-Results:'))
    .join(' and ');

const throughMilter = async ({milter, domain}: Ways, {sender, raw, queueId}: Letter, wanted: string): Promise<string> => {
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  const headers = fieldsIn(head).map(([name, value]): [string, string] => [name, value.replaceAll('\r\n', '\n')]);
  const peer = await connectPeer({path: milter});
  try {
    const {answers} = await peer.mail({
      ...{from: sender, to: [`ben@${domain}`], headers, body},
      queueId,
    });
    const letters = answers
      .map(({letter}) => letter)
      .filter(letter => 'qaydt'.includes(letter))
      .join('');
    if (letters !== wanted) throw new Error(`the milter answered ${letters} to a mail from ${sender}`);
    return answers.flatMap(insertedResults).join(' and ');
  } finally {
    peer.destroy();
  }
};

/** SMFIR_INSHEADER: an index, the name, the value. */
const insertedResults = ({letter, data}: MilterAnswer): string[] => {
  const [name = '', value = ''] = data.subarray(4).toString().split('\0');
  return letter === 'i' && name === 'Authentication-Results' ? [`${name}: ${value.replaceAll(/\r?\n[ \t]+/g, ' ')}`] : [];
};
