// Notes for the administrator about the consequences of connecting Postfix with mfd.
import type {MailSystem} from './mail-system.ts';
import {listEntries, subjectOf} from './postfix-list.ts';

export const planNotes = (system: MailSystem, wanted: {hasRecipients: boolean}, milter: string): string[] => [
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
