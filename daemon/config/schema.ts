import {z} from 'zod';
import {licenseSchema} from '../../shared/cluster-status.ts';
import {nodeIdPattern} from '../../shared/fields.ts';
import {reasons} from '../../shared/held-mail.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import {createNetworkSet} from '../mail/networks.ts';

export const isHostName = (text: string): boolean => /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(text);

const listen = (fallback: string) =>
  z
    .string()
    .refine(
      text => parseHostPort(text, {allowZero: true}) !== undefined,
      'must be HOST:PORT, IPv6 in brackets, port 0 for any free one',
    )
    .default(fallback);

const server = z.string().refine(text => parseHostPort(text) !== undefined, 'must be host:port, IPv6 in brackets');

const route = z
  .string()
  .refine(
    text => nodeIdPattern.test(text.split('=')[0] ?? '') && parseHostPort(text.slice(text.indexOf('=') + 1)) !== undefined,
    'must be NODE=HOST:PORT, IPv6 in brackets',
  );

const filePath = z.string().min(1, 'must name a file');

/** Bytes: a plain number, or one with K, M or G (binary). */
const size = (fallback: number, min: number) =>
  z
    .union([z.int(), z.string()], 'must be a size such as 52428800 or 50M')
    .transform((value, context) => {
      const match = /^(\d{1,15})([KMG]?)$/i.exec(String(value));
      const bytes = match ? Number(match[1]) * 1024 ** ' KMG'.indexOf((match[2] || ' ').toUpperCase()) : Number.NaN;
      if (bytes >= min) return bytes;
      context.addIssue({code: 'custom', message: `must be a size of at least ${min} bytes, such as 50M`});
      return z.NEVER;
    })
    .default(fallback);

const count = (fallback: number, max = 1_000_000) =>
  z.int('must be a whole number').min(1, 'must be at least 1').max(max, `must be at most ${max}`).default(fallback);
const seconds = (fallback: number) => z.number('must be a number of seconds').min(0.1).max(86_400).default(fallback);
const days = z.number('must be a number of days').gt(0, 'must be above 0').max(36_500);

const network = z.string().refine(text => {
  try {
    createNetworkSet([text]);
    return true;
  } catch {
    return false;
  }
}, 'must be an address or a network, such as 192.0.2.1 or 2001:db8::/32');

/** Keys of which one is nothing without the other. */
const pairs = [
  ['api', 'cert_file', 'key_file'],
  ['smtp', 'smarthost_username', 'smarthost_password_file'],
] as const;

const checkPairs = (config: Record<string, unknown>, context: z.RefinementCtx): void => {
  for (const [name, ...keys] of pairs) {
    const values = config[name] as Record<string, unknown> | undefined;
    const [given, missing] = [keys.find(key => values?.[key] !== undefined), keys.find(key => values?.[key] === undefined)];
    if (given === undefined || missing === undefined) continue;
    context.addIssue({
      code: 'custom',
      path: [name, given],
      message: `is nothing without ${name}.${missing}; give both or neither`,
    });
  }
};

const section = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never);

const everyKey = z.strictObject({
  fqdn: z
    .string()
    .refine(isHostName, 'must be a host name')
    .optional()
    .meta({description: 'Name this node is known by: in its certificate, its SMTP greeting and the cluster status'}),
  api: section({
    listen: listen('0.0.0.0:8443').meta({description: 'HTTPS API'}),
    cert_file: filePath.optional().meta({description: 'Certificate chain (PEM) instead of the one from the cluster CA'}),
    key_file: filePath.optional().meta({description: 'Its private key (PEM)'}),
  }),
  cluster: section({
    listen: listen('0.0.0.0:8444').meta({description: 'Mutual TLS between nodes'}),
    advertise: server.optional().meta({description: 'HOST:PORT the other nodes reach this one at, if not its name and port'}),
    routes: z
      .array(route)
      .default([])
      .meta({description: 'NODE=HOST:PORT where another node is to be reached from here, if not where it says'}),
    heartbeat_interval: z
      .number('must be a number of seconds')
      .min(1, 'must be at least 1')
      .max(30, 'must be at most 30')
      .default(10)
      .meta({description: 'Seconds between two heartbeats to each node'}),
    drift_after: seconds(60).meta({
      description: 'Seconds that configurations differ with nothing under way before they are compared',
    }),
    outbox_limit: count(100_000, 100_000_000).meta({
      description: 'Changes kept for nodes that are away; one that is away longer takes everything anew',
    }),
  }),
  metrics: section({listen: listen('127.0.0.1:9090').meta({description: 'Plain HTTP: /metrics, /healthz, /readyz'})}),
  smtp: section({
    listen: listen('127.0.0.1:2525').meta({description: 'SMTP gateway'}),
    trusted_networks: z
      .array(network)
      .default(['127.0.0.0/8', '::1/128'])
      .meta({description: 'Clients that may send outbound mail, and whose upstream spam headers are believed'}),
    max_size: size(50 * 1024 * 1024, 1024).meta({description: 'Largest mail, in bytes or with K, M, G'}),
    max_connections: count(1000),
    max_connections_per_client: count(50).meta({description: 'Per address; trusted networks are exempt'}),
    max_recipients: count(100, 10_000).meta({description: 'Per transaction, at most 10000'}),
    reverse_lookup: z
      .boolean('must be true or false')
      .default(true)
      .meta({description: 'Look clients up in DNS for the Received header'}),
    smarthost: server.optional().meta({description: 'Where outbound mail goes; without it outbound mail is refused'}),
    smarthost_username: z.string().min(1).optional(),
    smarthost_password_file: filePath.optional(),
    smarthost_ca_file: filePath
      .optional()
      .meta({description: 'Authority (PEM) that vouches for the smarthost, instead of the system’s'}),
  }),
  scanner: section({
    type: z.enum(['builtin', 'rspamd'], 'must be builtin or rspamd').default('builtin'),
    on_failure: z
      .enum(['tempfail', 'pass'], 'must be tempfail or pass')
      .default('tempfail')
      .meta({description: 'When the scanner does not answer: ask the sender to come again, or let mail through unjudged'}),
    rspamd_url: z.url({protocol: /^http$/, error: 'must be an http:// URL'}).default('http://127.0.0.1:11333'),
    rspamd_password_file: filePath.optional(),
    rspamd_timeout: seconds(15).meta({description: 'Seconds for one mail'}),
  }),
  retention: section({
    days: days.default(30).meta({description: 'How long mail is held'}),
    by_reason: section(
      Object.fromEntries(reasons.map(reason => [reason, days.optional()])) as Record<
        (typeof reasons)[number],
        z.ZodOptional<typeof days>
      >,
    ),
    sweep_interval: seconds(600).meta({description: 'Seconds between two looks for mail to remove'}),
  }),
  spool: section({
    ballast: size(16 * 1024 * 1024, 1024 * 1024).meta({
      description: 'Disk space kept in reserve, so that discard works on a full disk',
    }),
    min_free: size(64 * 1024 * 1024, 0).meta({description: 'With less free disk space than this, mail is answered 452'}),
  }),
  log: section({level: z.enum(['debug', 'info', 'warn', 'error'], 'must be debug, info, warn or error').default('info')}),
  license: section({
    valid: licenseSchema.shape.valid.default(true),
    type: licenseSchema.shape.type.default('community'),
    status: licenseSchema.shape.status.default('active'),
    expires_at: licenseSchema.shape.expires_at.default('9999-12-31T23:59:59Z'),
  }),
});

/** `mfd.yaml`. Every key has a default; what is not listed here is an error. */
export const configSchema = everyKey.superRefine(checkPairs);
export type Config = z.output<typeof configSchema>;
