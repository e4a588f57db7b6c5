// Plan of a setup: derives the settings to write, and notes for the administrator, from the current state of the machine.
import {dirname} from 'node:path';
import type {MailSystem} from './mail-system.ts';
import type {ConfigKey} from './node-config.ts';
import {missingKeys} from './node-config.ts';
import {planNotes} from './plan-notes.ts';
import {hasEntry, listEntries, subjectOf, withEntry, withEntryReplaced} from './postfix-list.ts';
import {rspamdOptions} from './rspamd-options.ts';
import {SetupError} from './setup-error.ts';
import type {Setting, SetupRecord} from './setup-record.ts';
import {postfixAddress} from './socket-address.ts';

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
