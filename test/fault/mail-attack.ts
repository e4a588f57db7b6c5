// An attack by mail, over SMTP and through the milter: what each client gets, what becomes of each mail, and whether a node still tells
// honest mail from forged mail and answers its API meanwhile.
import {setTimeout as delay} from 'node:timers/promises';
import type {MailNode} from '../helpers/mail-node.ts';
import {watchApi} from './api-watch.ts';
import {type AuthenticMail, createAuthenticSender} from './authentic-mail.ts';
import type {FaultContext, FaultReport} from './fault.ts';
import {createTally, percentile, runHostile} from './hostile.ts';
import type {HostileMail} from './hostile-mail-input.ts';
import {reportRecipient} from './hostile-mail-input.ts';
import {createMailAccount, type MailAccount} from './mail-account.ts';
import {createMailClients} from './mail-clients.ts';
import {createMemoryProbe} from './memory-probe.ts';
import type {Random} from './random.ts';
import {startSocketNode} from './socket-node.ts';

interface MailAttack {
  /** The name server of the node, as `HOST:PORT`. */
  dnsServer: string;
  dnsTimeoutSeconds: number;
  authentic: AuthenticMail;
  mailOf(random: Random): HostileMail;
  concurrency: number;
  /** Mails of one session. */
  mailsAtOnce: number;
  figures?(): Record<string, number | string>;
}

/** Each way has a domain of its own: mail in the hold queue of a Postfix that is not there cannot be discarded. */
const domains = {smtp: 'example.com', milter: 'milter.example', checked: 'checked.example'};

export const attackByMail = async (context: FaultContext, attack: MailAttack): Promise<FaultReport> => {
  const {authentic, mailOf, concurrency, mailsAtOnce} = attack;
  const account = createMailAccount(domains.checked);
  const memory = await createMemoryProbe(context.owner);
  const {node, milter} = await startAttackedNode(context, {...attack, account, env: memory.env});
  const answers = createTally();
  const clients = createMailClients({node, milter, domains, account, answers});
  const checkAuthentic = createAuthenticSender({...{node, milter, mail: authentic, domain: domains.checked}, ...account});
  const honestMs: number[] = [];
  const watch = watchApi(node);
  const sweeping = keepSweeping(account, node);

  const report = await runHostile(context, {
    ...{node, concurrency},
    // A forced collection stops the node for a while.
    memory: {...memory, heldMebibytes: async pid => watch.without(async () => memory.heldMebibytes(pid))},
    session: async random => {
      const mails = Array.from({length: mailsAtOnce}, () => mailOf(random));
      const send = random.chance(0.6) ? clients.overSmtp : clients.throughMilter;
      await send(mails);
      return mails.length;
    },
    good: async () => {
      const startedAt = performance.now();
      await checkAuthentic();
      honestMs.push(performance.now() - startedAt);
    },
    expectedErrors: /queue could not be read/,
    figures: () => ({answers: answers.text(), ...attack.figures?.()}),
  });
  const {tookMs, waitedMs, failures} = await watch.stop();
  // What it cannot be asked any more is no further violation.
  if (!node.isRunning()) return report;
  await sweeping.stop();
  const heldByMilter = await heldFor(node, domains.milter);
  const violations = [
    ...report.violations,
    ...failures.slice(0, 5),
    ...account.violations().slice(0, 20),
    ...tooSlow({'the API': tookMs, 'honest and forged mail': honestMs}, context.isShort),
    ...(/^mfd ready .*\n$/.test(node.stdout()) ? [] : [`stdout is ${JSON.stringify(node.stdout().slice(0, 1000))}`]),
    ...(heldByMilter === clients.heldByMilter()
      ? []
      : [`${clients.heldByMilter()} mails were held by the milter, ${heldByMilter} are`]),
  ];
  return {
    ...report,
    violations,
    figures: {
      ...report.figures,
      'API answers': tookMs.length,
      'slowest ms': `${percentile(tookMs, 1)} (${waitedMs} of them without a processor)`,
      'honest and forged, p50/slowest ms': `${percentile(honestMs, 0.5)}/${percentile(honestMs, 1)}`,
      ...account.counts,
      'held by the milter': heldByMilter,
    },
  };
};

type Waits = Record<'the API' | 'honest and forged mail', readonly number[]>;

/** Longest waits. */
const bounds = {'the API': 250, 'honest and forged mail': 10_000};
/** The short form runs beside other tests on machines of any kind, where only a standstill says something about the node. */
const shortBounds = {'the API': 10_000, 'honest and forged mail': 60_000};

const tooSlow = (waits: Waits, isShort: boolean): string[] =>
  (['the API', 'honest and forged mail'] as const).flatMap(what => {
    const slowestMs = percentile(waits[what], 1);
    return slowestMs > (isShort ? shortBounds : bounds)[what] ? [`the slowest answer to ${what} took ${slowestMs} ms`] : [];
  });

const heldFor = async ({api}: MailNode, domain: string): Promise<number> =>
  Number((await api('GET', `mail/quarantine?domain=${domain}&limit=1`)).headers['x-total-count']);

const startAttackedNode = async (
  {owner}: FaultContext,
  {dnsServer, dnsTimeoutSeconds, account, env}: MailAttack & {account: MailAccount; env: Record<string, string>},
): Promise<{node: MailNode; milter: string}> => {
  let sink: MailNode['sink'] | undefined;
  const {node, sockets} = await startSocketNode(owner, {
    env,
    config: {
      fqdn: 'mx.example.org',
      authentication: {dns_servers: [dnsServer], dns_timeout: dnsTimeoutSeconds},
      // Nobody is trusted: all mail is verified.
      smtp: {trusted_networks: [], max_size: '2M'},
      dmarc: {receive_at: Object.values(domains).map(domain => `${reportRecipient}@${domain}`)},
    },
    sink: {
      onMail: mail => {
        account.delivered(mail);
        // A hundred thousand mails are more than this process should remember.
        for (const list of [sink?.mails, sink?.steps]) list?.splice(0);
      },
    },
  });
  sink = node.sink;
  for (const name of [domains.milter, domains.checked]) await node.createDomain({name});
  return {node, milter: sockets.milter};
};

/** Held mail must not fill the disk. `stop` waits until all of it is gone. */
const keepSweeping = (account: MailAccount, node: MailNode): {stop(): Promise<void>} => {
  const over = new AbortController();
  const sweep = async (): Promise<void> => {
    while (!over.signal.aborted && node.isRunning()) {
      await account.sweep(node, domains.smtp);
      await delay(sweepMs, undefined, {signal: over.signal}).catch(() => undefined);
    }
  };
  const sweeping = sweep();
  sweeping.catch(() => undefined);

  return {
    async stop() {
      over.abort();
      await sweeping;
      while (node.isRunning() && (await account.sweep(node, domains.smtp)) > 0);
    },
  };
};

const sweepMs = 1000;
