// Cost of the verification of mail: processor time of one mail, and mails a second with and without it.
import {dmarc} from 'mailauth/lib/dmarc/index.js';
import {createDnsAnswers} from '../../daemon/mail/authentication/dns-answers.ts';
import {verifyMail} from '../../daemon/mail/authentication/verify-mail.ts';
import {loadMailauth} from '../../daemon/mail/readers/mailauth.ts';
import {signMail} from '../../daemon/mail/readers/sign-mail.ts';
import {dkimRecord, generateDkimKey} from '../../daemon/services/domains/domain-parts.ts';
import {startDnsZone, type Zone} from '../helpers/dns-zone.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {readersInProcess} from '../helpers/readers.ts';
import {receivedMail} from '../helpers/received-mail.ts';
import {alternate} from './alternate.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {createExampleDomain} from './example-domain.ts';
import {quantilesOf} from './quantiles.ts';
import {kept} from './smtp.ts';
import {startBareBackend, startSmtpLoad} from './smtp-load.ts';
import {mailTo} from './smtp-mail.ts';

const rows: readonly Row[] = [
  {
    name: 'verified-cpu',
    title: 'verification of a mail of 10 KB with one signature, DNS answers kept, processor time, p50',
    anchor: 'mailauth alone',
    wanted: {atMost: 1.5},
    unit: 'ms',
  },
  {
    name: 'verified',
    title: 'relayed mail of 10 KB with verification, mails a second',
    anchor: 'without',
    wanted: {atLeast: 0.5},
    unit: '×',
  },
];

export const authentication: Bench = {
  name: 'authentication',
  rows,
  seconds: 60,
  async run(context) {
    const mail = mailTo(kept.to, kept.sizeBytes);
    const pair = await generateDkimKey('rsa-2048');
    const zone: Zone = {
      'example.net': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
      '_dmarc.example.net': {TXT: ['v=DMARC1; p=reject']},
      's1._domainkey.example.net': {TXT: [dkimRecord({algorithm: 'rsa-2048', ...pair})]},
    };
    const {server} = await startDnsZone(context.owner, zone);
    const key = {domain: 'example.net', selector: 's1', algorithm: 'rsa-2048' as const, private_key_pem: pair.private_key_pem};
    const signature = (await signMail(mail, [key])).toString('latin1');
    if (context.isWanted('verified-cpu')) await measureProcessor(context, {server, mail, signature});
    if (context.isWanted('verified')) await measureRate(context, {server, signature});
  },
};

interface Signed {
  /** `HOST:PORT` of the name server. */
  server: string;
  mail: Buffer;
  signature: string;
}

const measureProcessor = async ({isQuick, report}: BenchContext, {server, mail, signature}: Signed): Promise<void> => {
  const bytes = Buffer.concat([Buffer.from(signature, 'latin1'), mail]);
  const received = receivedMail({bytes, client: {ip: '127.0.0.1'}, envelope: {sender: 'ada@example.net'}});
  const quiet = () => {};
  const answers = createDnsAnswers({
    servers: [server],
    timeoutMs: 3000,
    monotonic: () => performance.now(),
    onMute: quiet,
    onBack: quiet,
  });
  const {spf, dkimVerify} = await loadMailauth();
  const verify = async () => {
    const {results} = await verifyMail(received, {newLookup: answers.forMail, fqdn: 'mx.test', readers: readersInProcess});
    if (results.dmarc.result !== 'pass' || results.dkim[0]?.result !== 'pass') throw new Error(JSON.stringify(results));
  };
  const verifyAlone = async () => {
    const resolver = answers.forMail() as never;
    const [signatures, sender] = await Promise.all([
      dkimVerify(bytes, {resolver}),
      spf({ip: '127.0.0.1', helo: 'client.test', sender: 'ada@example.net', mta: 'mx.test', resolver}),
    ]);
    const {headerFrom, results} = signatures;
    await dmarc({headerFrom, spfDomains: [sender], dkimDomains: results, resolver} as never);
  };
  const times = await alternate(
    {own: async () => processorMs(verify), alone: async () => processorMs(verifyAlone)},
    {rounds: isQuick ? 10 : 60, warmUps: 10},
  );
  const [own, alone] = [quantilesOf(times.own).p50, quantilesOf(times.alone).p50];
  report('verified-cpu', {value: own, own: `${own.toFixed(2)} ms`, anchor: `${alone.toFixed(2)} ms`});
};

const atOnce = 20;

/** Milliseconds of the processor for one of some in a row. */
const processorMs = async (work: () => Promise<void>): Promise<number> => {
  const before = process.cpuUsage();
  for (let n = 0; n < atOnce; n += 1) await work();
  const {user, system} = process.cpuUsage(before);
  return (user + system) / 1000 / atOnce;
};

const measureRate = async ({owner, isQuick, report}: BenchContext, {server, signature}: Omit<Signed, 'mail'>): Promise<void> => {
  const backend = `127.0.0.1:${await startBareBackend(owner)}`;
  const load = startSmtpLoad(owner);
  const start = async (verify: boolean) => {
    const config = {authentication: {verify, dns_servers: [server]}, smtp: {trusted_networks: [], reverse_lookup: false}};
    const node = await startNode(owner, {config});
    await createExampleDomain(node, backend, relayAll);
    return node;
  };
  const [verifying, trusting] = [await start(true), await start(false)];
  const rate = async ({smtpPort}: {smtpPort: number}) =>
    load.rate({...kept, signature, port: smtpPort, count: isQuick ? 400 : 2000});
  const rates = await alternate(
    {own: async () => rate(verifying), without: async () => rate(trusting)},
    {rounds: isQuick ? 3 : 7, warmUps: 2},
  );
  const [own, without] = [quantilesOf(rates.own).p50, quantilesOf(rates.without).p50];
  const perSecond = (value: number) => `${Math.round(value)} mails/s`;
  report('verified', {value: own / without, own: perSecond(own), anchor: perSecond(without)});
};
