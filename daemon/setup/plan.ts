// Plan of a setup: derives the settings to write, and notes for the administrator, from the current state of the machine.

import {dirname, relative} from 'node:path';
import {hasOwn} from '../../shared/has-own.ts';
import {formatHostPort, isWildcard} from '../../shared/host-port.ts';
import {type LocalAddress, parseLocalAddress} from '../mail/local-listener.ts';
import type {MailSystem} from './mail-system.ts';
import {type ConfigKey, missingKeys, rspamdOptions, valueIn} from './node-config.ts';
import {hasEntry, listEntries, subjectOf, withEntry, withEntryReplaced} from './postfix-tool.ts';
import {SetupError} from './setup-error.ts';
import type {Setting, SetupRecord} from './setup-record.ts';

export interface Plan {
  main: Setting[];
  master: Setting[];
  /** Keys for mfd.yaml. */
  node: ConfigKey[];
  /** Folder for the sockets; undefined when none are used. */
  folder: {path: string; uid: number; gid: number} | undefined;
  created: {path: string; text: string}[];
  notes: string[];
}

export interface Wanted {
  /** Text of mfd.yaml, and the owner of the data directory. */
  nodeText: string;
  uid: number;
  /** Keys that the file or the environment already sets. */
  milterListen: string | undefined;
  socketmapListen: string | undefined;
  isScannerSet: boolean;
  hasRecipients: boolean;
}

export const planSetup = (system: MailSystem, wanted: Wanted, record: SetupRecord | undefined): Plan => {
  const milterListen = wanted.milterListen ?? `unix:${system.queueDir}/mfd/milter.sock`;
  const socketmapListen = wanted.socketmapListen ?? `unix:${system.queueDir}/mfd/socketmap.sock`;
  const milter = `{ ${postfixAddress('postfix.milter_listen', milterListen, system)}, default_action=tempfail }`;
  const tables = `socketmap:${postfixAddress('postfix.socketmap_listen', socketmapListen, system)}`;
  const recorded = new Map(record?.main?.settings.map(setting => [setting.name, setting.entry]));
  if (wanted.hasRecipients) requireOtherRecipients(system, [`${tables}:relay_domains`, recorded.get('relay_domains') ?? '']);
  const added = (name: string, entry: string): Setting[] => addedEntry(system, {name, entry, former: recorded.get(name) ?? null});
  const main = [
    ...(system.explicit.get('enable_long_queue_ids') === 'yes'
      ? []
      : [
          {
            name: 'enable_long_queue_ids',
            before: system.explicit.get('enable_long_queue_ids') ?? null,
            after: 'yes',
            entry: null,
          },
        ]),
    ...added('smtpd_milters', milter),
    ...added('relay_domains', `${tables}:relay_domains`),
    ...added('transport_maps', `${tables}:transport_maps`),
    ...(wanted.hasRecipients ? added('relay_recipient_maps', `${tables}:relay_recipient_maps`) : []),
  ];
  const folder = [milterListen, socketmapListen]
    .map(text => dirname(text.replace(/^unix:/, '')))
    .find(path => path === `${system.queueDir}/mfd`);
  const reentry = planReentry(system, milter);
  return {
    main,
    master: reentry.master,
    node: missingKeys(wanted.nodeText, [
      {key: 'postfix.config_dir', value: system.configDir},
      {key: 'postfix.milter_listen', value: milterListen},
      {key: 'postfix.socketmap_listen', value: socketmapListen},
      ...(system.helperSocket === undefined ? [] : [{key: 'postfix.helper_socket', value: system.helperSocket}]),
      ...(system.log.value === undefined ? [] : [{key: 'postfix.log_file', value: system.log.value}]),
      ...(system.rspamd && !wanted.isScannerSet ? [{key: 'scanner.type', value: 'rspamd'}] : []),
    ]),
    folder: folder === undefined ? undefined : {path: folder, uid: wanted.uid, gid: system.gid},
    created: system.rspamd?.options === 'none' ? [{path: system.rspamd.optionsFile, text: rspamdOptions}] : [],
    notes: [...reentry.notes, ...planNotes(system, wanted, milter)],
  };
};

const addedEntry = (
  {explicit, defaultRelayDomains}: MailSystem,
  {name, entry, former}: {name: string; entry: string; former: string | null},
): Setting[] => {
  const before = explicit.get(name) ?? null;
  const list = before ?? (name === 'relay_domains' ? defaultRelayDomains : '');
  const [subject] = [subjectOf(entry)];
  // An entry may be written in another way, such as with a different default_action.
  if (listEntries(list).some(one => subjectOf(one) === subject)) return [];
  const isMoved = former !== null && hasEntry(list, former);
  return [{name, before, after: isMoved ? withEntryReplaced(list, former, entry) : withEntry(list, entry), entry}];
};

/** An empty list accepts all recipients; a list with only our table rejects all recipients of other relay domains. */
const requireOtherRecipients = ({explicit, defaultRelayDomains}: MailSystem, ours: string[]): void => {
  const others = listEntries(explicit.get('relay_domains') ?? defaultRelayDomains).filter(entry => !ours.includes(entry));
  if (others.length === 0 || (explicit.get('relay_recipient_maps') ?? '') !== '') return;
  throw new SetupError(
    `--recipients would have Postfix refuse all mail to the relay domains of your own (${others.join(', ')}), for which mfd knows no recipients; set relay_recipient_maps for these first`,
  );
};

/** Mail that returns from a content filter has already passed the milters. */
const planReentry = ({services, explicit}: MailSystem, milter: string): {master: Setting[]; notes: string[]} => {
  const others = listEntries(explicit.get('smtpd_milters') ?? '').filter(entry => subjectOf(entry) !== subjectOf(milter));
  const back = services.filter(
    ({program, overrides}) =>
      program === 'smtpd' &&
      overrides.get('content_filter') === '' &&
      !overrides.has('smtpd_milters') &&
      !/\bno_milters\b/.test(overrides.get('receive_override_options') ?? ''),
  );
  // postconf does not accept spaces here.
  const value = others.join(',');
  const isWritable = !/[\s{}]/.test(value);
  return {
    master: isWritable ? back.map(({name}) => ({name: `${name}/smtpd_milters`, before: null, after: value, entry: null})) : [],
    notes: isWritable
      ? []
      : back.map(
          ({name}) =>
            `${name} takes mail back from a content filter: give it -o smtpd_milters=… without mfd in master.cf, or its mail is judged twice.`,
        ),
  };
};

const planNotes = (system: MailSystem, wanted: Pick<Wanted, 'hasRecipients' | 'nodeText'>, milter: string): string[] => [
  ...relayNotes(system),
  ...milterNotes(system, milter),
  ...(system.destinations === ''
    ? []
    : [
        `Postfix delivers mail for mydestination itself (${system.destinations}); do not list the domains there that mfd protects.`,
      ]),
  ...(wanted.hasRecipients
    ? []
    : ['With --recipients Postfix refuses recipients that the server of their domain does not know.']),
  ...(system.helperSocket === undefined
    ? [
        'Releasing held mail needs root: install the sudoers file of mfd, or mfd-postfix.socket under systemd; see POSTFIX in mfd(8).',
      ]
    : []),
  ...logNotes(system, wanted),
  ...rspamdNotes(system),
];

const relayNotes = ({restrictions}: MailSystem): string[] => {
  const words = new Set(restrictions.split(/[\s,]+/));
  if (words.has('reject_unauth_destination') || words.has('reject') || words.has('defer')) return [];
  if (words.has('defer_unauth_destination'))
    return [
      'smtpd_relay_restrictions has defer_unauth_destination: mail to foreign domains is deferred (4xx). With reject_unauth_destination it is rejected.',
    ];
  return ['WARNING: smtpd_relay_restrictions has no reject_unauth_destination: Postfix would relay for anybody. Add it.'];
};

const milterNotes = ({explicit, services, milterProtocol}: MailSystem, milter: string): string[] => {
  const entries = listEntries(explicit.get('smtpd_milters') ?? '').map(subjectOf);
  const own = services.filter(
    ({program, overrides}) =>
      program === 'smtpd' &&
      overrides.get('content_filter') === undefined &&
      overrides.has('smtpd_milters') &&
      !listEntries(overrides.get('smtpd_milters') ?? '').some(entry => subjectOf(entry) === subjectOf(milter)),
  );
  return [
    ...entries
      .filter(entry => /rspamd|:11332$/.test(entry))
      .map(
        entry =>
          `${entry} in smtpd_milters looks like Rspamd’s own milter: as mfd asks Rspamd too, each mail is scanned twice. To use mfd alone, remove it from smtpd_milters and run postfix reload.`,
      ),
    ...own.map(({name}) => `${name} has smtpd_milters of its own in master.cf: its mail does not pass through mfd.`),
    ...(milterProtocol === '6' ? [] : [`milter_protocol is ${milterProtocol}: mfd speaks version 6; set it to that.`]),
  ];
};

/** A log that mfd.yaml names already is the administrator's. */
const logNotes = ({log: {value, advice}}: MailSystem, {nodeText}: Pick<Wanted, 'nodeText'>): string[] => {
  const set = valueIn(nodeText, 'postfix.log_file');
  if (set !== null && set !== value) return [];
  if (value !== undefined) return advice === undefined ? [] : [advice];
  return ['Where Postfix logs was not found: set postfix.log_file in mfd.yaml, so that mfctl trace goes on behind Postfix.'];
};

const rspamdNotes = ({rspamd}: MailSystem): string[] => {
  if (!rspamd)
    return [
      'Rspamd is not installed: mfd judges with its built-in scanner, which is for trials only. Install Rspamd, and run this command again.',
    ];
  return [
    'mfd asks Rspamd’s normal worker on 127.0.0.1:11333, which Rspamd has by default, for this host alone.',
    ...(rspamd.options === 'foreign'
      ? [`${rspamd.optionsFile} is yours: set dns { timeout } to about 1s in it, with few retransmits.`]
      : []),
  ];
};

/** Postfix programs that connect to mfd. */
const clients = ['smtpd', 'trivial-rewrite', 'cleanup', 'flush', 'verify'];

/**
 * The address of a listener of mfd as Postfix writes it: `unix:PATH` or `inet:HOST:PORT`. A path in Postfix's queue directory is relative to that directory, which is the working directory
 * of all Postfix programs, with or without a chroot.
 */
const postfixAddress = (key: string, listen: string, {queueDir, services}: MailSystem): string => {
  const address = parseLocalAddress(listen);
  if (!address) throw new SetupError(`${key}: ${listen} is too long for a socket; set ${key} to another one, or to HOST:PORT`);
  if (!hasOwn(address, 'path')) return inetAddress(key, address);

  const inQueue = relative(queueDir, address.path);
  if (!inQueue.startsWith('..')) return `unix:${inQueue}`;
  const caged = services.find(({program, isChrooted}) => isChrooted && clients.includes(program));
  if (!caged) return `unix:${address.path}`;
  throw new SetupError(
    `${key}: ${address.path} cannot be reached by ${caged.name}, which is chrooted in ${queueDir}; set ${key} to a path in there, or remove it`,
  );
};

const inetAddress = (key: string, {host, port}: Exclude<LocalAddress, {path: string}>): string => {
  if (port === 0) throw new SetupError(`${key}: Postfix must be told a port; set ${key} to one that is not 0`);
  const address = isWildcard(host) ? '127.0.0.1' : host;
  return `inet:${formatHostPort({host: address, port})}`;
};
