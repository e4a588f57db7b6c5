// Mail from domains whose name servers do not answer, lie, answer too much or without end, and honest mail beside it.
import type {ZoneRecords} from '../helpers/dns-zone.ts';
import {createAuthenticMail} from './authentic-mail.ts';
import type {Fault} from './fault.ts';
import {startHostileDns, weaponNames} from './hostile-dns-server.ts';
import type {Field} from './hostile-mail-fields.ts';
import type {HostileMail} from './hostile-mail-input.ts';
import {attackByMail} from './mail-attack.ts';
import type {Random} from './random.ts';

export const hostileDns: Fault = {
  name: 'hostile-dns',
  title: 'mail from domains with mute, lying, huge and looping name servers',
  rounds: 10_000,
  shortRounds: 100,
  pass: 'API ≤ 250 ms, memory flat, honest and forged mail told apart, each mail where its answer says',
  async run(context) {
    const authentic = await createAuthenticMail();
    const {server, questions} = await startHostileDns(context.owner, name => authentic.recordsOf(name) ?? clientNames(name));
    return attackByMail(context, {
      ...{dnsServer: server, authentic, mailOf},
      // The name server of honest mail is in the process of the test, which in the short form is one of many.
      dnsTimeoutSeconds: context.isShort ? 5 : 1,
      // Most of them wait for DNS.
      ...{concurrency: 16, mailsAtOnce: 3},
      figures: () => ({questions: [...questions].map(([kind, count]) => `${kind}×${count}`).join(' ')}),
    });
  },
};

/** The addresses of the clients have names, in the domains of the others. */
const clientNames = (name: string): ZoneRecords | undefined =>
  name.endsWith('.in-addr.arpa') ? {PTR: weaponNames.map(kind => `client.${kind}.test`)} : undefined;

/** A hundred labels: each domain above the author's may have a policy. */
const deep = 'l.'.repeat(100);

const mailOf = (random: Random): HostileMail => {
  const domain = () => `${random.chance(0.1) ? deep : ''}n${random.between(0, 999_999)}.${random.pick(weaponNames)}.test`;
  const from = domain();
  const signers = Array.from({length: random.pick([0, 1, 1, 2, 5, 10])}, () => (random.chance(0.5) ? from : domain()));
  const signature = (first: string, signer: string): string =>
    ` ${first}; a=rsa-sha256; c=relaxed/relaxed; d=${signer}; s=${random.pick(['s1', 'x', deep.slice(0, 40)])}; h=from; bh=AAAA; b=AAAA`;
  const fields = signers.map((signer): Field => ['DKIM-Signature', signature('v=1', signer)]);
  if (random.chance(0.2))
    fields.push(
      ['ARC-Seal', signature('i=1; cv=none', domain())],
      ['ARC-Message-Signature', signature('i=1', domain())],
      ['ARC-Authentication-Results', ` i=1; ${domain()}; spf=pass`],
    );
  return {
    sender: `x@${random.chance(0.5) ? from : domain()}`,
    parameters: '',
    recipient: 'ben',
    fields: [...fields, ['From', ` x@${from}${random.chance(0.1) ? `, y@${domain()}` : ''}`], ['Subject', ' hi']],
    body: 'hello\r\n',
  };
};
