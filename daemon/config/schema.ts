import {z} from 'zod';
import {licenseSchema} from '../../shared/cluster-status.ts';
import {reasons} from '../../shared/reason.ts';
import {days} from '../../shared/retention.ts';
import {
  absolutePath,
  asciiAddress,
  count,
  dnsServer,
  filePath,
  label,
  listen,
  localListen,
  mailAddress,
  network,
  optionalListen,
  pagesUrl,
  postfixLog,
  route,
  seconds,
  section,
  server,
  size,
  storeUrl,
} from './values.ts';

export const isHostName = (text: string): boolean => /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(text);

const keptDays = (reason: string): string => `Days that mail with the reason ${reason} is held; without it: retention.days`;

const everyKey = z.strictObject({
  fqdn: z.string().refine(isHostName, 'must be a host name').optional().meta({
    description:
      'Name of this node in its certificate, its SMTP greeting and the cluster status. Without it: the name of the host',
  }),
  api: section({
    listen: listen('0.0.0.0:8443').meta({description: 'HTTPS API, as HOST:PORT; IPv6 in brackets, port 0 for any free one'}),
    advertise: server.optional().meta({
      description: 'HOST:PORT where clients reach the API, if not at fqdn and the port of api.listen, as behind NAT',
    }),
    cert_file: filePath.optional().meta({
      description: 'Certificate chain (PEM) for the API and STARTTLS, instead of one from the cluster CA; needs key_file',
    }),
    key_file: filePath.optional().meta({description: 'Private key (PEM) of cert_file'}),
  }),
  cluster: section({
    listen: listen('0.0.0.0:8444').meta({description: 'Mutual TLS between nodes'}),
    advertise: server
      .optional()
      .meta({description: 'HOST:PORT where the other nodes reach this one, if not at fqdn and the port of cluster.listen'}),
    routes: z.array(route).default([]).meta({
      description:
        'NODE=HOST:PORT each: where this node reaches another one, if not at the address that the other one advertises',
    }),
    heartbeat_interval: z
      .number('must be a number of seconds')
      .min(1, 'must be at least 1')
      .max(30, 'must be at most 30')
      .default(10)
      .meta({description: 'Seconds between two heartbeats to each node'}),
    drift_after: seconds(60).meta({
      description: 'Seconds that configurations differ, while no change is under way, before they are compared',
    }),
    outbox_limit: count(100_000, 100_000_000).meta({
      description: 'Changes kept for nodes that are away; a node that is away for longer fetches everything',
    }),
  }),
  metrics: section({listen: listen('127.0.0.1:9090').meta({description: 'Plain HTTP: /metrics, /healthz, /readyz'})}),
  smtp: section({
    listen: listen('127.0.0.1:2525').meta({description: 'SMTP gateway'}),
    trusted_networks: z
      .array(network)
      .default(['127.0.0.0/8', '::1/128'])
      .meta({description: 'Clients that may send outbound mail, and whose upstream spam headers are believed'}),
    backend_networks: z.array(network).optional().meta({
      description: 'Networks of the servers that a domain-admin key may set as its backends; without it: any',
    }),
    max_size: size(50 * 1024 * 1024, 1024).meta({description: 'Largest mail, in bytes or with K, M, G'}),
    max_connections: count(1000).meta({description: 'SMTP connections at one time, in all'}),
    max_connections_per_client: count(50).meta({
      description: 'SMTP connections at one time from one address; trusted networks are exempt',
    }),
    max_recipients: count(100, 10_000).meta({description: 'Recipients of one transaction'}),
    reverse_lookup: z.boolean('must be true or false').default(true).meta({
      description:
        'Look up the name of a client in DNS for the Received header and the scanner; a name counts if it resolves back to the client',
    }),
    smarthost: server.optional().meta({description: 'HOST:PORT where outbound mail goes; without it outbound mail is refused'}),
    smarthost_username: z
      .string()
      .min(1)
      .optional()
      .meta({description: 'Login at the smarthost, over verified TLS only; needs smarthost_password_file'}),
    smarthost_password_file: filePath.optional().meta({description: 'File that contains the password of smarthost_username'}),
    smarthost_ca_file: filePath
      .optional()
      .meta({description: 'Authority (PEM) that signed the certificate of the smarthost, instead of those of the system'}),
  }),
  authentication: section({
    verify: z.boolean('must be true or false').default(true).meta({
      description:
        'Verify inbound mail by SPF, DKIM, DMARC and ARC, apart from that of trusted networks and of users who have logged in',
    }),
    dns_servers: z.array(dnsServer).default([]).meta({
      description:
        'Name servers for that, each as ADDRESS or ADDRESS:PORT, IPv6 in brackets with a port; without them: those of the system',
    }),
    dns_timeout: z
      .number('must be a number of seconds')
      .min(0.1, 'must be at least 0.1')
      .max(30, 'must be at most 30')
      .default(3)
      .meta({
        description:
          'Seconds that questions to DNS may take for one mail: for the policy of its author, for SPF, and for its signatures',
      }),
    on_temperror: z.enum(['defer', 'pass'], 'must be defer or pass').default('defer').meta({
      description:
        'With the built-in scanner, when DNS does not say whether mail passes a DMARC policy of reject: ask the sender to try again, or let it through',
    }),
  }),
  scanner: section({
    type: z
      .enum(['builtin', 'rspamd'], 'must be builtin or rspamd')
      .default('builtin')
      .meta({description: 'What scores mail: builtin is for trying things out, rspamd is for production'}),
    on_failure: z
      .enum(['tempfail', 'pass'], 'must be tempfail or pass')
      .default('tempfail')
      .meta({description: 'When the scanner does not answer: ask the sender to try again, or let mail through without a score'}),
    rspamd_url: z
      .url({protocol: /^http$/, error: 'must be an http:// URL'})
      .default('http://127.0.0.1:11333')
      .meta({description: 'A normal worker of Rspamd; plain HTTP, so keep it on this host or behind a tunnel'}),
    rspamd_password_file: filePath.optional().meta({description: 'File that contains the password of that worker'}),
    rspamd_timeout: seconds(15).meta({description: 'Seconds that Rspamd may take for one mail'}),
    rspamd_learn: z
      .boolean('must be true or false')
      .default(false)
      .meta({description: 'Train Rspamd with what people decide: released inbound mail is ham, discarded mail is spam'}),
    rspamd_controller_url: z
      .url({protocol: /^http$/, error: 'must be an http:// URL'})
      .default('http://127.0.0.1:11334')
      .meta({description: 'The controller worker of Rspamd, which is trained; plain HTTP like rspamd_url'}),
    rspamd_controller_password_file: filePath
      .optional()
      .meta({description: 'File that contains the controller’s password: its enable_password, if it has one'}),
  }),
  postfix: section({
    config_dir: absolutePath.optional().meta({
      description: 'Folder of Postfix’s main.cf, such as /etc/postfix; its hold queue becomes part of the quarantine',
    }),
    milter_listen: localListen.optional().meta({
      description: 'Milter for Postfix, as unix:/PATH or HOST:PORT; needs config_dir',
    }),
    socketmap_listen: localListen.optional().meta({
      description: 'Lookup tables for Postfix (socketmap), as unix:/PATH or HOST:PORT',
    }),
    helper_socket: absolutePath.optional().meta({
      description: 'Socket of mfd-postfix.socket, which runs postsuper and postcat for this node; without it: sudo',
    }),
    log_file: postfixLog.optional().meta({
      description:
        'Log of Postfix, as /PATH, or journal for the journal of systemd: what became of mail behind Postfix; without it the trace ends there',
    }),
    reconcile_interval: seconds(10).meta({description: 'Seconds between two checks of Postfix’s hold queue'}),
  }),
  dmarc: section({
    report_from: mailAddress.optional().meta({
      description:
        'Address that aggregate reports come from; without it: dmarc-reports@ and fqdn. With neither it nor a dot in fqdn none are sent',
    }),
    organisation: label.optional().meta({description: 'Name in the reports; without it: the domain that they come from'}),
    contact: label.optional().meta({description: 'How to reach your people, in the reports: an address, or the URL of a page'}),
    receive_at: z
      .array(mailAddress)
      .default([])
      .meta({description: 'Addresses that aggregate reports about the domains here are sent to'}),
    report_delay: z
      .number('must be a number of seconds')
      .min(0, 'must be at least 0')
      .max(86_400, 'must be at most 86400')
      .default(3600)
      .meta({
        description: 'Seconds after midnight UTC before the first reports about a day are sent; the last come 45 minutes later',
      }),
    keep_days: days
      .min(3, 'must be at least 3: reports are tried for a day, and the day before them counts')
      .default(400)
      .meta({description: 'Days that counts and reports are kept'}),
  }),
  retention: section({
    days: days
      .default(30)
      .meta({description: 'Days that mail is held; mail that Postfix or a person put on hold stays until somebody acts'}),
    by_reason: section(
      Object.fromEntries(reasons.map(reason => [reason, days.optional().meta({description: keptDays(reason)})])) as Record<
        (typeof reasons)[number],
        z.ZodOptional<typeof days>
      >,
    ),
    max_days: days.optional().meta({
      description:
        'The most days that a domain-admin key may set for its domain; without it: any. What is set already stays, and other keys may set more',
    }),
    sweep_interval: seconds(600).meta({description: 'Seconds between two checks for mail to remove'}),
  }),
  events: section({
    keep_days: days.default(30).meta({description: 'Days that the event log is kept, which tells what became of each mail'}),
    max_rows: z
      .int('must be a whole number')
      .min(1000, 'must be at least 1000')
      .max(1_000_000_000, 'must be at most 1000000000')
      .default(10_000_000)
      .meta({description: 'The most entries that this node has in the event log; the oldest go first'}),
    subjects: z
      .enum(['keep', 'drop'], 'must be keep or drop')
      .default('keep')
      .meta({description: 'Whether the event log has the subjects of mail'}),
  }),
  webhooks: section({
    allow_networks: z.array(network).default([]).meta({
      description:
        'Networks, as ADDRESS/BITS, that webhooks may reach besides public addresses, and with plain http:// as well; nothing else of a private network is ever reached',
    }),
  }),
  recipients: section({
    listen: optionalListen.optional().meta({
      description: 'Pages that the links in digests lead to, over HTTPS, as HOST:PORT; without it this node has none',
    }),
    url: pagesUrl.optional().meta({
      description: 'Address that the links in digests lead to, such as https://mail.example.com; without it there are no digests',
    }),
    cert_file: filePath.optional().meta({
      description: 'Certificate chain (PEM) of these pages, instead of that of the API; needs key_file',
    }),
    key_file: filePath.optional().meta({description: 'Private key (PEM) of cert_file'}),
    from: asciiAddress.optional().meta({description: 'Address that digests come from; without it: quarantine@ and the domain'}),
    proxies: z.array(network).default([]).meta({
      description:
        'Proxies in front of these pages, as ADDRESS or ADDRESS/BITS, whose header X-Forwarded-For names the client; of others it counts for nothing',
    }),
  }),
  store: section({
    url: storeUrl.optional().meta({
      description:
        'PostgreSQL database that all nodes of the cluster share, as postgres://USER@HOST:PORT/DB, or postgres:///DB?host=/PATH&user=USER for a Unix socket; without it: SQLite in the data directory',
    }),
    password_file: filePath.optional().meta({description: 'File that contains the password of the user in url'}),
    ca_file: filePath.optional().meta({
      description:
        'Authority (PEM) that signed the certificate of the database server, instead of those of the system. TLS is always used, except to a Unix socket, and to a loopback address without this key',
    }),
    pool: z.int('must be a whole number').min(2, 'must be at least 2').max(100, 'must be at most 100').default(10).meta({
      description:
        'Connections of this node to the database at one time, besides three that follow changes and two for searches of the quarantine',
    }),
  }),
  spool: section({
    ballast: size(16 * 1024 * 1024, 1024 * 1024).meta({
      description: 'Size of the reserve file, which is given up so that discard works on a full disk',
    }),
    min_free: size(64 * 1024 * 1024, 0).meta({description: 'With less free disk space than this, senders get 452'}),
  }),
  log: section({
    level: z
      .enum(['debug', 'info', 'warn', 'error'], 'must be debug, info, warn or error')
      .default('info')
      .meta({description: 'The lowest level that is logged'}),
    format: z.enum(['auto', 'json', 'text'], 'must be auto, json or text').default('auto').meta({
      description: 'Lines for programs or for people; auto: for people on a terminal, JSON elsewhere',
    }),
  }),
  license: section({
    valid: licenseSchema.shape.valid
      .default(true)
      .meta({description: 'Whether the licence is valid; shown in the cluster status and the metrics, like the rest of it'}),
    type: licenseSchema.shape.type.default('community').meta({description: 'Kind of licence'}),
    status: licenseSchema.shape.status.default('active').meta({description: 'State of the licence'}),
    expires_at: licenseSchema.shape.expires_at.default('9999-12-31T23:59:59Z').meta({description: 'End of the licence, in UTC'}),
  }),
});

/** Keys that must be set together. */
const pairs = [
  ['api', 'cert_file', 'key_file'],
  ['smtp', 'smarthost_username', 'smarthost_password_file'],
  ['recipients', 'cert_file', 'key_file'],
] as const;

/** Keys that need another one of their section. */
const dependents = [
  {section: 'postfix', keys: ['milter_listen', 'helper_socket'], needed: 'config_dir', example: '/etc/postfix'},
  {section: 'store', keys: ['password_file', 'ca_file'], needed: 'url', example: 'postgres://mfd@db.example.com/mfd'},
] as const;

type Sections = Record<string, unknown>;

const checkDependentKeys = (config: Sections, context: z.RefinementCtx): void => {
  const valuesOf = (section: string) => (config[section] ?? {}) as Record<string, unknown>;
  for (const [section, ...keys] of pairs) {
    const values = valuesOf(section);
    const [given, missing] = [keys.find(key => values[key] !== undefined), keys.find(key => values[key] === undefined)];
    if (given === undefined || missing === undefined) continue;
    const message = `is useless without ${section}.${missing}; give both or neither`;
    context.addIssue({code: 'custom', path: [section, given], message});
  }
  for (const {section, keys, needed, example} of dependents) {
    const values = valuesOf(section);
    if (values[needed] !== undefined) continue;
    for (const key of keys)
      if (values[key] !== undefined)
        context.addIssue({code: 'custom', path: [section, key], message: `needs ${section}.${needed}, such as ${example}`});
  }
};

/** Schema of `mfd.yaml`. Every key has a default; unknown keys are errors. */
export const configSchema = everyKey.superRefine(checkDependentKeys);
export type Config = z.output<typeof configSchema>;
