// A gateway with a backend behind it, and services replaced by an object that a test can change.
import {readdir} from 'node:fs/promises';
import {buffer} from 'node:stream/consumers';
import {createBackendPool} from '../../daemon/mail/backend/backend-pool.ts';
import {type SmtpGateway, type SmtpGatewayNeeds, startSmtpGateway} from '../../daemon/mail/gateway/smtp-gateway.ts';
import type {IntakePort, Verdict} from '../../daemon/mail/mail-decision.ts';
import {createClaim} from '../../daemon/services/intake/intake.ts';
import type {Judgement, ReceivedMail} from '../../daemon/services/intake/mail.ts';
import type {Domain} from '../../shared/domain.ts';
import type {HostPort} from '../../shared/host-port.ts';
import {selfSigned} from './certificate.ts';
import type {Owner} from './daemon.ts';
import {type SinkOptions, type SmtpSink, startSmtpSink} from './smtp-sink.ts';
import {testFolder} from './test-folder.ts';

export interface TestGateway extends SmtpGateway {
  port: number;
  sink: SmtpSink;
  /** The services; a test replaces those that it needs. */
  intake: IntakePort;
  /** Held mails with their content. */
  held: {mail: ReceivedMail; content: string}[];
  /** Everything that was judged. */
  judged: ReceivedMail[];
  verdicts: Verdict[];
  logged: string[];
  /** Names of the files that are in the folder for big mails at this moment. */
  spilled(): Promise<string[]>;
}

export interface TestGatewayOptions {
  sink?: SinkOptions;
  /** The route of mail for any domain; by default the sink. */
  servers?: HostPort[];
  needs?: Partial<SmtpGatewayNeeds>;
}

const tls = await selfSigned('gate.test');

/** Domains as `claim` returns them; all mail scores 0 and is relayed. */
export const startTestGateway = async (t: Owner, options: TestGatewayOptions = {}): Promise<TestGateway> => {
  const sink = await startSmtpSink(t, options.sink);
  const tmpDir = await testFolder(t);
  const pool = createBackendPool({hostname: 'gate.test', timeouts: {connectMs: 5000, replyMs: 2000, finalMs: 2000}});
  const record = {held: [], judged: [], verdicts: [], logged: []} as Pick<TestGateway, 'held' | 'judged' | 'verdicts' | 'logged'>;
  const intake = createFakeIntake(record, options.servers ?? [sink.server]);
  const log = (fields: object, message: string) => void record.logged.push(`${message} ${JSON.stringify(fields)}`);
  let queued = 0;

  const gateway = await startSmtpGateway({
    listen: {host: '127.0.0.1', port: 0},
    hostname: 'gate.test',
    tls,
    maxSize: 1_000_000,
    maxConnections: 500,
    maxConnectionsPerClient: 300,
    maxRecipients: 20,
    isTrusted: () => false,
    intake: lateBound(intake),
    pool,
    tmpDir,
    newQueueId: () => `Q${++queued}x00000`,
    log: {info: log, warn: log, error: log},
    ...options.needs,
  });
  t.teardown(async () => {
    await gateway.stop();
    await pool.close();
  });
  return {...gateway, ...record, port: gateway.address.port, sink, intake, spilled: () => readdir(tmpDir)};
};

/** Calls what a test has put in place of a service, also after the start. */
export const lateBound = <T extends object>(services: T): T => {
  const members = services as Record<string, (...args: unknown[]) => unknown>;
  return Object.fromEntries(Object.keys(members).map(name => [name, (...args: unknown[]) => members[name]?.(...args)])) as T;
};

const domains = [
  {id: 1, name: 'one.test', direction: 'inbound', active: true},
  {id: 2, name: 'two.test', direction: 'inbound', active: true},
  {id: 3, name: 'out.test', direction: 'outbound', active: true, dkim_active: true},
  {id: 4, name: 'closed.test', direction: 'inbound', active: false},
] as Domain[];

/** Owners of mail: one.test and two.test are inbound, reports go to dmarc@one.test, out.test is outbound and signed, closed.test is inactive. */
export const claim = createClaim({
  domains: {findByName: name => domains.find(domain => domain.name === name)},
  isForReports: address => address === 'dmarc@one.test',
});

export const createFakeIntake = (
  {held, judged, verdicts}: Pick<TestGateway, 'held' | 'judged' | 'verdicts'>,
  servers: HostPort[] = [],
): IntakePort => ({
  claim,
  routing: (client, sender, recipient) => {
    const claimed = claim(client, sender, recipient);
    if (claimed.kind !== 'owned') return {kind: 'refuse', reply: claimed.reply};
    return {kind: 'accept', ownership: claimed.ownership, route: {servers}};
  },
  canTakeMail: () => undefined,
  judge: async mail => {
    judged.push(mail);
    return judgement('relay');
  },
  hold: async mail => {
    held.push({mail, content: (await buffer(mail.content.open())).toString('latin1')});
  },
  count: () => {},
  takeReport: async () => undefined,
  createClaimCheck: () => () => false,
  withoutClaims: mail => mail,
  resultsField: () => Buffer.alloc(0),
  sign: async () => Buffer.alloc(0),
  relayPrefix: async mail => Buffer.from(`Received: by gate.test id ${mail.queueId}\r\n`),
  recordVerdict: verdict => void verdicts.push(verdict),
  recordRelay: () => {},
  recordEvent: () => {},
  recordRefusal: () => {},
  leaveOutRefusal: () => {},
});

export const judgement = (action: Judgement['action']): Judgement => ({
  action,
  score: {relay: 0, hold: 8, reject: 20, block: 0, defer: 2, undecided: 0}[action],
  symbols: [{name: 'SECRET_SYMBOL', score: 8}],
  reason: 'spam',
});
