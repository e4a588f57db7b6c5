// Settings that can change while the node runs. Listeners and sizes are fixed at start.

import {hostname} from 'node:os';
import type {SymbolScore} from '../../shared/held-mail.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import {type Reason, reasons} from '../../shared/reason.ts';
import {ConfigError, type LoadedConfig} from '../config/load.ts';
import type {Config} from '../config/schema.ts';
import {createNetworkSet, type NetworkSet} from '../mail/networks.ts';
import {isUndecided, scoreAuthentication} from '../mail/scan/authentication-score.ts';
import {createBuiltinScorer} from '../mail/scan/builtin-scorer.ts';
import {createRspamdClassifier} from '../mail/scan/rspamd-classifier.ts';
import {createRspamdScorer} from '../mail/scan/rspamd-scorer.ts';
import type {Classifier, Route, Scorer, Verified} from '../services/intake/mail.ts';
import {requireOperatorPairs} from './tls-files.ts';

export interface LiveSettings {
  trusted: NetworkSet;
  /** The networks that backends of domains must be in when a domain-admin key sets them; undefined for any. */
  backendNetworks: NetworkSet | undefined;
  scorer: Scorer;
  closeScorer(): void;
  isMailVerified: boolean;
  /** Name servers for the verification of mail, and seconds for all questions of one mail. */
  dns: {servers: Config['authentication']['dns_servers']; timeout: number};
  /** See `Intake`. */
  weigh(verified: Verified): SymbolScore[];
  isUndecided(verified: Verified): boolean;
  /** What learns from held mail, if anything does. */
  classifier: Classifier | undefined;
  isTrainedByActions: boolean;
  onScorerFailure: Config['scanner']['on_failure'];
  smarthost: Omit<Route, 'signFor'> | undefined;
  events: Config['events'];
  recipients: Omit<Config['recipients'], 'proxies'> & {proxies: NetworkSet};
  /** Networks that webhooks may reach besides public addresses. */
  webhookNetworks: NetworkSet;
  keepMs: Record<Reason, number>;
  /** The most days that a domain-admin key may set for its domains; undefined for no limit. */
  maxDays: number | undefined;
  /** Whether STARTTLS has a certificate of the operator. */
  hasOwnCertificate: boolean;
  license: Config['license'];
  dmarc: Config['dmarc'];
  /** The files that hold passwords, by their keys. */
  passwordFiles: {key: string; file: string}[];
}

const dayMs = 24 * 3600 * 1000;

/** The configuration that the node runs with. */
export interface RunningConfig {
  config(): Config;
  settings(): LiveSettings;
  /**
   * Applies all settings that can change while the node runs. Resolves with the keys that take effect at the next start. Throws
   * and changes nothing if `next` is invalid.
   */
  replace(next: LoadedConfig): Promise<string[]>;
  close(): void;
}

export const openConfig = (started: LoadedConfig): RunningConfig => {
  let {config} = started;
  let settings = liveSettings(started);
  return {
    config: () => config,
    settings: () => settings,
    async replace(next) {
      // Check everything before applying anything.
      await requireOperatorPairs(next.config);
      const before = settings;
      settings = liveSettings(next);
      // Mail that is being scored may finish with the former scorer.
      setTimeout(before.closeScorer, config.scanner.rspamd_timeout * 1000).unref();
      ({config} = next);
      return fixedChanges(started.config, config);
    },
    close: () => settings.closeScorer(),
  };
};

/** Throws a ConfigError for values that pass the schema but are invalid. */
export const liveSettings = ({config, smarthostPassword, smarthostCa, ...loaded}: LoadedConfig): LiveSettings => ({
  trusted: networkSet('smtp.trusted_networks', config.smtp.trusted_networks),
  backendNetworks: config.smtp.backend_networks && networkSet('smtp.backend_networks', config.smtp.backend_networks),
  ...scorerFrom(config, loaded.rspamdPassword),
  isMailVerified: config.authentication.verify,
  dns: {servers: config.authentication.dns_servers, timeout: config.authentication.dns_timeout},
  // Rspamd has symbols of its own for that.
  weigh: config.scanner.type === 'builtin' ? scoreAuthentication : () => [],
  isUndecided: config.scanner.type === 'builtin' && config.authentication.on_temperror === 'defer' ? isUndecided : () => false,
  classifier: classifierFrom(config, loaded.rspamdControllerPassword),
  isTrainedByActions: config.scanner.rspamd_learn,
  onScorerFailure: config.scanner.on_failure,
  smarthost: smarthostFrom(config, smarthostPassword, smarthostCa),
  keepMs: Object.fromEntries(
    reasons.map(reason => [reason, (config.retention.by_reason[reason] ?? config.retention.days) * dayMs]),
  ) as Record<Reason, number>,
  maxDays: config.retention.max_days,
  hasOwnCertificate: config.api.cert_file !== undefined,
  license: config.license,
  dmarc: config.dmarc,
  events: config.events,
  recipients: {...config.recipients, proxies: networkSet('recipients.proxies', config.recipients.proxies)},
  webhookNetworks: networkSet('webhooks.allow_networks', config.webhooks.allow_networks),
  passwordFiles: passwordFilesIn(config),
});

const passwordFilesIn = (config: Config): LiveSettings['passwordFiles'] =>
  Object.entries(config).flatMap(([section, values]) =>
    Object.entries(typeof values === 'object' ? values : {}).flatMap(([key, file]) =>
      key.endsWith('password_file') && typeof file === 'string' ? [{key: `${section}.${key}`, file}] : [],
    ),
  );

/** Keys, and whole sections, that are read at the start only. */
const fixed: readonly [key: string, value: (config: Config) => unknown][] = [
  ['fqdn', config => config.fqdn ?? hostname()],
  ['api.listen', config => config.api.listen],
  ['api.advertise', config => config.api.advertise],
  ['cluster', config => config.cluster],
  ['metrics', config => config.metrics],
  ['smtp.listen', config => config.smtp.listen],
  ['smtp.max_size', config => config.smtp.max_size],
  ['smtp.max_connections', config => config.smtp.max_connections],
  ['smtp.max_connections_per_client', config => config.smtp.max_connections_per_client],
  ['smtp.max_recipients', config => config.smtp.max_recipients],
  ['smtp.reverse_lookup', config => config.smtp.reverse_lookup],
  ['postfix', config => config.postfix],
  ['retention.sweep_interval', config => config.retention.sweep_interval],
  ['recipients.listen', config => config.recipients.listen],
  ['recipients.cert_file', config => config.recipients.cert_file],
  ['recipients.key_file', config => config.recipients.key_file],
  ['store', config => config.store],
  ['spool', config => config.spool],
  ['log.format', config => config.log.format],
];

/** Their names, for the documents. */
export const fixedKeys: readonly string[] = fixed.map(([key]) => key);

/** Keys whose value in `read` takes effect at the next start; until then the node uses the value in `started`. */
export const fixedChanges = (started: Config, read: Config): string[] =>
  fixed.filter(([, value]) => JSON.stringify(value(started)) !== JSON.stringify(value(read))).map(([key]) => key);

const networkSet = (key: string, entries: readonly string[]): NetworkSet => {
  try {
    return createNetworkSet(entries);
  } catch (error) {
    throw new ConfigError(`${key}: ${error instanceof Error ? error.message : String(error)}`, key);
  }
};

const scorerFrom = ({scanner}: Config, password: string | undefined): Pick<LiveSettings, 'scorer' | 'closeScorer'> => {
  if (scanner.type === 'builtin') return {scorer: createBuiltinScorer(), closeScorer: () => {}};
  const scorer = createRspamdScorer({
    url: scanner.rspamd_url,
    timeoutMs: scanner.rspamd_timeout * 1000,
    ...(password !== undefined && {password}),
  });
  return {scorer, closeScorer: () => scorer.close()};
};

const classifierFrom = ({scanner}: Config, password: string | undefined): Classifier | undefined =>
  scanner.type === 'rspamd' || scanner.rspamd_learn
    ? createRspamdClassifier({url: scanner.rspamd_controller_url, ...(password !== undefined && {password})})
    : undefined;

const smarthostFrom = ({smtp}: Config, password: string | undefined, ca: string | undefined): LiveSettings['smarthost'] => {
  const server = smtp.smarthost === undefined ? undefined : parseHostPort(smtp.smarthost);
  if (!server) return undefined;
  if ((smtp.smarthost_username === undefined) !== (password === undefined))
    throw new ConfigError(
      'smtp.smarthost_username and smtp.smarthost_password_file go together; give both or neither',
      'smtp.smarthost_username',
    );
  const username = smtp.smarthost_username;
  if (username === undefined || password === undefined) return {servers: [server]};
  return {servers: [server], auth: {username, password, ...(ca !== undefined && {ca})}};
};
