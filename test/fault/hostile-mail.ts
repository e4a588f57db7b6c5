// Mail that is written to run, stop, freeze or fool the programs that read it.
import {startDnsZone} from '../helpers/dns-zone.ts';
import {createAuthenticMail, type Letter} from './authentic-mail.ts';
import type {Fault} from './fault.ts';
import {fieldsIn} from './hostile-mail-fields.ts';
import {type HostileMail, hostileMail} from './hostile-mail-input.ts';
import {attackByMail} from './mail-attack.ts';

export const hostileMailFault: Fault = {
  name: 'hostile-mail',
  title: 'generated mail with hostile headers, signatures, types and reports',
  rounds: 100_000,
  shortRounds: 300,
  pass: 'API ≤ 250 ms, memory flat, honest and forged mail told apart, each mail where its answer says',
  async run(context) {
    const authentic = await createAuthenticMail();
    const {server} = await startDnsZone(context.owner, name => authentic.recordsOf(name) ?? strangers.get(name));
    const signed = await Promise.all(Array.from({length: 20}, async (_, n) => authentic.honest(firstSigned + n)));
    return attackByMail(context, {
      ...{dnsServer: server, dnsTimeoutSeconds: 3, authentic},
      mailOf: random => (random.chance(0.1) ? aboveSigned(hostileMail(random), random.pick(signed)) : hostileMail(random)),
      ...{concurrency: 4, mailsAtOnce: 10},
    });
  },
};

/** Beyond the numbers of the domains whose mail is checked. */
const firstSigned = 10_000_000;

/** Fields that nobody signed, above a mail whose signature is valid. */
const aboveSigned = (mail: HostileMail, {sender, raw}: Letter): HostileMail => {
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  return {
    ...mail,
    sender,
    parameters: '',
    fields: [...mail.fields.filter(([name]) => !/from/i.test(name)), ...fieldsIn(head)],
    body,
  };
};

/** Of the domains that hostile mail names; of all others there is nothing. */
const strangers = new Map(
  Object.entries({
    'good.test': {TXT: ['v=spf1 ip4:127.0.0.1 ip4:192.0.2.5 -all'], MX: ['10 mx.good.test']},
    '_dmarc.good.test': {TXT: ['v=DMARC1; p=none; rua=mailto:dmarc@example.com']},
    's1._domainkey.good.test': {TXT: [`v=DKIM1; k=rsa; p=${'A'.repeat(300)}`]},
    'bank.test': {TXT: ['v=spf1 -all']},
    '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
    's1._domainkey.bank.test': {TXT: ['v=DKIM1; k=ed25519; p=AAAA; __proto__.x=1']},
    'evil.test': {TXT: ['v=spf1 include:%{d}.evil.test exists:%{ir}.%{l}.evil.test __proto__.x=1 redirect=__proto__']},
    '_dmarc.evil.test': {TXT: ['v=DMARC1; p=__proto__; __proto__.x=1; constructor.prototype.y=1']},
    's1._domainkey.evil.test': {TXT: ['v=DKIM1; __proto__=x; p=; k=constructor; s=__proto__']},
  }),
);
