// Command `domain digest`: mail to the recipients of a domain about what is held for them.
import {type Command, Option} from 'commander';
import type {DigestPatch, DigestPreview, DomainDigest, SentDigests} from '../../shared/digest.ts';
import {digestActions, digestLanguages} from '../../shared/digest-rules.ts';
import {type Reason, reasons} from '../../shared/reason.ts';
import {safeBlock} from '../../shared/safe-text.ts';
import type {Answer} from '../client/answer.ts';
import {collected} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';
import {warnOfPartialList} from '../output/print-all.ts';
import type {Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {reasonLabels, valuesByReason} from './by-reason.ts';
import {findDomainId} from './find-domain.ts';

interface Flags {
  enable?: true;
  disable?: true;
  at?: string;
  timezone?: string;
  language?: string;
  action?: readonly string[];
  except?: readonly string[];
  preview?: string;
  sendNow?: true;
}

const digest: Shown<DomainDigest> = {
  fields: ['domain', 'enabled', 'at', 'timezone', 'language', 'actions', 'except'],
  nameOf: ({domain}) => domain,
  details: ({domain, enabled, at, timezone, language, actions, except}) => [
    ['Domain', domain],
    ['Digests', enabled ? `daily at ${at}, ${timezone}` : 'off'],
    ['Language', language],
    ...reasons.map(reason => [reasonLabels[reason], actionTexts[actions[reason]]] as const),
    ['Not to', except.length === 0 ? '-' : except.join(', ')],
  ],
};

const actionTexts: Record<DomainDigest['actions'][Reason], string> = {
  release: 'recipients may release it',
  request: 'recipients may ask an administrator to release it',
  none: 'not listed',
};

const sentDigests: Shown<SentDigests> = {
  fields: ['domain', 'sent', 'refused', 'is_waiting', 'failure'],
  nameOf: ({domain}) => domain,
  details: ({domain, sent, refused, is_waiting, failure}) => [
    ['Domain', domain],
    ['Sent', String(sent)],
    ['Refused', String(refused)],
    ['Others', is_waiting ? 'wait for their next digest' : '-'],
    ['Last failure', failure ?? '-'],
  ],
};

const previews: Shown<DigestPreview> = {
  fields: ['from', 'to', 'subject', 'text', 'html', 'mails'],
  nameOf: ({to}) => to,
  details: ({from, to, subject}) => [
    ['From', from],
    ['To', to],
    ['Subject', subject],
  ],
};

const printPreview = (session: Session, {data, ...answer}: Answer<DigestPreview>): void => {
  const printer = session.printer();
  printer.record(data, previews);
  if (printer.isForPeople && data.mails > 0) printer.text(`\n${safeBlock(data.text.replaceAll('\u200b', ''))}`);
  if (data.mails === 0) printer.note('nothing is held that was in no digest yet: none would be sent');
  warnOfPartialList(session, answer);
};

export const addDigestCommand = (domain: Command, session: Session): void => {
  session
    .prints(domain.command('digest'), digest)
    .description('show or change what recipients are told of the mail that is held for them')
    .argument('<domain>', 'name or id')
    .addOption(new Option('--enable', 'send a digest a day to each recipient for whom mail was held').conflicts('disable'))
    .option('--disable', 'send none')
    .option('--at <time>', 'time of the day, such as 07:00')
    .option('--timezone <zone>', 'whose time that is, such as Europe/Berlin')
    .addOption(new Option('--language <language>', 'language of digests and of the pages they lead to').choices(digestLanguages))
    .option(
      '--action <reason=action>',
      `what a recipient may do with mail held for a reason (${reasons.join(', ')}): ${digestActions.join(', ')}; repeat it for more`,
      collected,
    )
    .option(
      '--except <address>',
      'who gets none: an address, or *@ and the domain; repeat it for more; none for nobody',
      collected,
    )
    .option('--preview <address>', 'print the digest that this recipient would get now')
    .option('--send-now', 'send digests now, about mail that was in none yet')
    .addHelpText('after', help)
    .action(async (nameOrId: string, {preview, sendNow, ...flags}: Flags) => {
      const change = changeOf(flags);
      if (preview !== undefined && (change || sendNow))
        throw usageError('--preview goes alone: it changes nothing', 'mfctl domain digest --help');
      const client = await session.client();
      const id = await findDomainId(client, nameOrId);
      if (preview !== undefined) return printPreview(session, await client.domains.digestPreview(id, preview));
      const {data} = await (change ? client.domains.setDigest(id, change) : client.domains.digest(id));
      if (!sendNow) return session.printer().record(data, digest);
      session.printer().record((await client.domains.sendDigests(id)).data, sentDigests);
    });
};

const help = `
What is not given stays as it is; --except replaces the whole list. A digest lists mail that was held since the last one, and
has a link for each: it shows that mail, with a button to release it, or to ask for that. Mail that is held for a reason with
the action none is not listed. Links lead to recipients.url in mfd.yaml, which has to be set first.

Examples:
  mfctl domain digest example.com
  mfctl domain digest example.com --enable --at 07:00 --timezone Europe/Berlin --language de
  mfctl domain digest example.com --action phishing=request --action sandbox=none
  mfctl domain digest example.com --except info@example.com --except postmaster@example.com
  mfctl domain digest example.com --preview ann@example.com
  mfctl domain digest example.com --send-now
  mfctl domain digest example.com --disable`;

/** What the options ask for; undefined for nothing. */
const changeOf = ({enable, disable, at, timezone, language, action, except}: Flags): DigestPatch | undefined => {
  const change = {
    ...((enable || disable) && {enabled: enable === true}),
    ...(at !== undefined && {at}),
    ...(timezone !== undefined && {timezone}),
    ...(language !== undefined && {language: language as DomainDigest['language']}),
    ...(action && {actions: actionsIn(action)}),
    ...(except && {except: except.length === 1 && except[0] === 'none' ? [] : [...except]}),
  };
  return Object.keys(change).length === 0 ? undefined : change;
};

const actionsIn = (texts: readonly string[]): NonNullable<DigestPatch['actions']> =>
  valuesByReason(texts, {
    ...{flag: '--action', command: 'mfctl domain digest'},
    parse: text => digestActions.find(action => action === text),
    what: `one of ${digestActions.join(', ')}, such as phishing=request`,
  });
