// Lines of a preview: reason, envelope, headers and text of a mail. Text of the mail is indented, so that none of its lines
// looks like a line of the dashboard.
import {hasOwn} from '../../../../shared/has-own.ts';
import type {HeldMail, HeldMailDetail} from '../../../../shared/held-mail.ts';
import {authenticationMeaning, authenticationText} from '../../../output/authentication-text.ts';
import {plural, senderText, sizeText, timeText} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import type {MailContents} from '../../../quarantine/mail-reader.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Theme} from '../../shell/theme.ts';
import {type Thresholds, toneOfScore} from './mail-list.ts';
import type {Preview} from './mail-previews.ts';

interface PreviewLayout {
  width: number;
  theme: Theme;
  thresholds: Thresholds;
}

const maxRecipients = 20;
const maxSymbols = 60;
const maxWrapped = 12;
const indent = '  ';

/** All lines, however many fit. */
export const previewLines = (mail: HeldMail, preview: Preview | undefined, layout: PreviewLayout): string[] => {
  const {width, theme} = layout;
  const gone = preview && hasOwn(preview, 'gone') ? preview.gone : undefined;
  const head = [
    ...wrapText(mail.subject || '(no subject)', width)
      .slice(0, 3)
      .map(line => theme(line, 'bold')),
    ...(gone === undefined ? [] : wrapText(`✗ ${gone}`, width).map(line => theme(line, 'warn', 'bold'))),
  ];
  switch (preview?.state) {
    case 'ready':
      return [...head, ...envelopeLines(preview.detail, layout), ...contentsLines(preview.detail, preview.contents, layout)];
    case 'failed':
      return [
        ...head,
        ...envelopeLines(mail, layout),
        '',
        ...wrapText(`It cannot be read: ${preview.failure.detail} (r tries again)`, width).map(line => theme(line, 'bad')),
      ];
    case 'gone':
      return [...head, ...envelopeLines(mail, layout)];
    default:
      return [...head, ...envelopeLines(mail, layout), '', theme('reading it …', 'dim')];
  }
};

const envelopeLines = (mail: HeldMail | HeldMailDetail, {width, theme, thresholds}: PreviewLayout): string[] => {
  const recipients = mail.recipients.slice(0, maxRecipients);
  const more = mail.recipients.length - recipients.length;
  const rows: [string, string][] = [
    ['From', senderText(mail.sender)],
    ...recipients.map((recipient, at): [string, string] => [at === 0 ? 'To' : '', recipient]),
    ...(more > 0 ? [['', `and ${plural(more, 'more recipient')}`] satisfies [string, string]] : []),
    ['Arrived', timeText(mail.arrived_at) ?? ''],
    ['Held for', mail.reason],
    ...(hasOwn(mail, 'domain')
      ? ([
          ['Domain', `${mail.domain} (${mail.direction})`],
          ['Client', `${mail.client_ip} (${mail.helo})`],
          ...verifiedRows(mail.authentication, width - 10),
        ] satisfies [string, string][])
      : []),
    ['Size', sizeText(mail.size_bytes)],
    ['ID', mailId(mail)],
  ];
  const score = theme(fitText(String(mail.score), width - 10).trimEnd(), toneOfScore(mail, thresholds), 'bold');
  const lines = rows.map(([name, value]) => `${theme(fitText(name, 10), 'dim')}${fitText(value, width - 10).trimEnd()}`);
  return [`${theme(fitText('Score', 10), 'dim')}${score}`, ...lines];
};

const verifiedRows = (authentication: HeldMailDetail['authentication'], width: number): [string, string][] => {
  if (!authentication) return [['Verified', 'no']];
  const lines = [authenticationText(authentication), authenticationMeaning(authentication)].flatMap(text =>
    wrapText(text, width),
  );
  return lines.map((line, at) => [at === 0 ? 'Verified' : '', line]);
};

const contentsLines = (mail: HeldMailDetail, contents: MailContents, {width, theme}: PreviewLayout): string[] => {
  const inner = width - indent.length;
  const own = (text: string, most = maxWrapped): string[] => {
    const lines = wrapText(text, inner);
    return [...lines.slice(0, most), ...(lines.length > most ? ['…'] : [])].map(line => indent + line);
  };
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', theme(title, 'title'), ...lines];

  const symbols = [...mail.symbol_scores].sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
  const moreSymbols = symbols.length - maxSymbols;
  return [
    ...(contents.limitation === undefined ? [] : ['', ...wrapText(contents.limitation, width).map(line => theme(line, 'warn'))]),
    ...section('Symbols', [
      ...symbols
        .slice(0, maxSymbols)
        .map(({name, score}) => `${indent}${fitText(score.toFixed(2), 8, 'right')}  ${fitText(name, inner - 10).trimEnd()}`),
      ...(moreSymbols > 0 ? [`${indent}and ${plural(moreSymbols, 'more symbol')}`] : []),
    ]),
    ...section(
      'Attachments',
      contents.attachments.slice(0, 50).map(({filename, content_type: type, size_bytes: size}) => {
        const facts = fitText(`${type}, ${sizeText(size)}`, Math.floor(inner / 2)).trimEnd();
        return `${indent}${fitText(filename ?? '(no name)', inner - facts.length - 2).trimEnd()}  ${theme(facts, 'dim')}`;
      }),
    ),
    ...section('Text', contents.preview === '' ? [] : contents.preview.split('\n').flatMap(line => own(line))),
    ...section(
      'Links',
      contents.links.flatMap(link => own(link)),
    ),
    ...section(
      'Headers',
      contents.headers.flatMap(({name, value}) => own(`${name}: ${value}`)),
    ),
  ];
};
