// Lines of a preview: reason, envelope, headers and text of a mail. Text of the mail is indented, so that none of its lines
// looks like a line of the dashboard.
import {hasOwn} from '../../../../shared/has-own.ts';
import type {HeldMail, HeldMailDetail} from '../../../../shared/held-mail.ts';
import {plural, sizeText} from '../../../output/cell-text.ts';
import type {Cell} from '../../../output/column.ts';
import {type HeldMailFieldName, heldMailFields} from '../../../quarantine/held-mail-columns.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Theme} from '../../shell/theme.ts';
import {historyLines} from './mail-history.ts';
import type {Preview} from './mail-previews.ts';
import {type Thresholds, toneOfScore} from './quarantine-list.ts';

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
      return [...head, ...envelopeLines(preview.detail, layout), ...contentsLines(preview, layout)];
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

const fields = heldMailFields();

const previewed: readonly HeldMailFieldName[] = [
  ...(['score', 'sender', 'from', 'recipients', 'arrived_at', 'reason'] as const),
  ...(['domain', 'client', 'authentication', 'size_bytes', 'id'] as const),
];

const envelopeLines = (mail: HeldMail | HeldMailDetail, {width, theme, thresholds}: PreviewLayout): string[] =>
  previewed.flatMap(name => {
    const {label, previewLabel = label, cell, value = cell} = fields[name];
    const style = name === 'score' ? ([toneOfScore(mail, thresholds), 'bold'] as const) : [];
    return valueLines(name, value(mail), width - 10).map(
      (line, at) => theme(fitText(at === 0 ? previewLabel : '', 10), 'dim') + theme(line, ...style),
    );
  });

/** No line when it has not been read yet. */
const valueLines = (name: HeldMailFieldName, value: Cell | readonly string[], width: number): string[] => {
  if (value === undefined) return [];
  const texts: readonly string[] = typeof value === 'object' && value !== null ? value : [String(value ?? '')];
  if (name === 'authentication') return texts.flatMap(text => wrapText(text, width));
  const more = texts.length - maxRecipients;
  return [...texts.slice(0, maxRecipients), ...(more > 0 ? [`and ${plural(more, 'more recipient')}`] : [])].map(text =>
    fitText(text, width).trimEnd(),
  );
};

const contentsLines = (
  {detail: mail, contents, history = []}: Extract<Preview, {state: 'ready'}>,
  {width, theme}: PreviewLayout,
): string[] => {
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
    ...section('History', historyLines(history, width, theme)),
    ...section(
      'Headers',
      contents.headers.flatMap(({name, value}) => own(`${name}: ${value}`)),
    ),
  ];
};
