import type {Command} from 'commander';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {HeldMailDetail, MailReference} from '../../shared/held-mail.ts';
import {safeBlock, safeLine} from '../../shared/safe-text.ts';
import {scopesWith} from '../../shared/scopes.ts';
import {keyText} from '../audit/audit-fields.ts';
import type {Client} from '../client/client.ts';
import {CliError} from '../errors.ts';
import {sizeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {fold, truncate} from '../output/display-width.ts';
import {type Detail, renderDetails, renderTable, type Shown, type TableStyle} from '../output/table.ts';
import type {Session} from '../session.ts';
import {askOfMail} from './ended-mail.ts';
import {heldMailFields, mailFields, mailId, parseMailId} from './held-mail-columns.ts';
import type {MailContents} from './mail-reader.ts';

type Attachment = MailContents['attachments'][number];

/** The longest file name. One longer cell would widen every line of its table. */
const maxNameWidth = 255;

const attachmentColumns: Column<Attachment>[] = [
  {title: 'NAME', cell: attachment => truncate(attachment.filename ?? '', maxNameWidth)},
  {title: 'TYPE', cell: attachment => truncate(attachment.content_type, maxNameWidth)},
  {title: 'SIZE', cell: attachment => sizeText(attachment.size_bytes), align: 'right'},
];

const symbolColumns: Column<HeldMailDetail['symbol_scores'][number]>[] = [
  {title: 'SYMBOL', cell: symbol => truncate(symbol.name, maxNameWidth)},
  {title: 'SCORE', cell: symbol => symbol.score, align: 'right'},
];

type ShownMail = HeldMailDetail & Pick<MailContents, 'headers' | 'attachments'> & {history: AuditEntry[] | null};

const heldMail: Shown<ShownMail> = {
  fields: [
    ...mailFields,
    ...[
      'domain',
      'direction',
      'symbol_scores',
      'client_ip',
      'helo',
      'authentication',
      'recipient_states',
      'headers',
      'attachments',
    ],
    'history',
  ],
  nameOf: mailId,
  details: mail => envelopeDetails(mail),
};

export const addShowCommand = (quarantine: Command, session: Session): void => {
  session
    .prints(quarantine.command('show'), heldMail)
    .description('show a held mail: why it is held, what was done to it, its headers, its attachments and how it begins')
    .argument('<id>', 'NODE/QUEUE, as quarantine list shows it')
    .addHelpText('after', '\nExample:\n  mfctl quarantine show NODE/QUEUE')
    .action(async (id: string) => {
      const reference = parseMailId(id);
      const client = await session.client();
      const {data: mail} = await askOfMail(client, reference, client.quarantine.get(reference));
      // Before the body: reading that is an entry of its own.
      const {entries: history, fault, isDenied = false} = await readHistory(client, reference);
      const contents = await readContents(client, reference);

      const printer = session.printer();
      const {headers, attachments} = contents;
      if (printer.isForPeople) {
        const {drawShortTable} = await import('../output/short-table.ts');
        printer.text(asText({...mail, history, isDenied}, contents, {maxWidth: printer.maxWidth, draw: drawShortTable}));
      }
      if (!printer.isForPeople) printer.record({...mail, headers, attachments, history}, heldMail);
      if (fault !== undefined) printer.warn(fault);
      if (contents.limitation !== undefined) printer.warn(contents.limitation);
    });
};

const readContents = async (client: Client, mail: MailReference): Promise<MailContents> => {
  const [{readMail}, body] = await Promise.all([
    import('./mail-reader.ts'),
    askOfMail(client, mail, client.quarantine.body(mail)),
  ]);
  return readMail(body);
};

interface History {
  /** What an auditor would see, oldest first. */
  entries: AuditEntry[] | null;
  /** The key may not read the audit log. */
  isDenied?: boolean;
  /** Why there is none otherwise. */
  fault?: string;
}

const readHistory = async (client: Client, mail: MailReference): Promise<History> => {
  try {
    const {data, unreachableNodes} = await client.audit.list({target: mailId(mail), limit: maxHistory});
    if (!unreachableNodes.includes(mail.node_id)) return {entries: data.toReversed()};
    return {
      entries: null,
      fault: `no history: node ${mail.node_id} did not answer, or is of a version that does not know this question`,
    };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return {entries: null, ...(error.code === 'insufficient_scope' ? {isDenied: true} : {fault: `no history: ${error.detail}`})};
  }
};

/** Of entries, the newest. */
const maxHistory = 100;

const historyColumns: Column<AuditEntry>[] = [
  {title: 'AT', cell: ({at}) => timeText(at)},
  {title: 'ACTION', cell: ({action}) => action.replace(/^quarantine\./, '')},
  {title: 'BY', cell: keyText},
  {title: 'RESULT', cell: ({result}) => result},
  {title: 'DETAIL', cell: ({detail}) => truncate(detail, maxNameWidth)},
];

const asText = (
  mail: HeldMailDetail & Pick<ShownMail, 'history'> & Pick<History, 'isDenied'>,
  contents: MailContents,
  {maxWidth = Number.POSITIVE_INFINITY, draw}: TableStyle,
): string => {
  const symbols = [...mail.symbol_scores].sort((a, b) => b.score - a.score || a.name.localeCompare(b.name));
  const sections = [
    renderDetails(envelopeDetails(mail)),
    section('History', mail.isDenied ? deniedText : historyText(mail, draw)),
    section('Headers', contents.headers.map(({name, value}) => `${safeLine(name)}: ${safeLine(value)}\n`).join('')),
    section('Symbols', symbols.length > 0 ? renderTable(symbols, symbolColumns, {draw}) : ''),
    section('Attachments', contents.attachments.length > 0 ? renderTable(contents.attachments, attachmentColumns, {draw}) : ''),
    section('Text', contents.preview === '' ? '' : `${safeBlock(contents.preview).replaceAll('\t', '    ')}\n`),
    section('Links', contents.links.map(link => `${safeLine(link)}\n`).join('')),
  ];
  return fold(sections.filter(text => text !== '').join('\n'), maxWidth);
};

/** No warning: the key is meant to be like this, and the person learns who can tell more. */
const deniedText = `not with this key: the audit log takes one of scope ${scopesWith('audit:read').join(' or ')}\n`;

const historyText = (mail: HeldMailDetail & Pick<ShownMail, 'history'>, draw: TableStyle['draw']): string =>
  mail.history === null ? '' : renderTable([arrivalOf(mail), ...mail.history], historyColumns, {draw});

/** No action of anybody, and so in no audit log. */
const arrivalOf = ({arrived_at, node_id, reason, score}: HeldMailDetail): AuditEntry => ({
  ...{node_id, seq: 0, at: arrived_at, key_id: null, key_name: null, action: 'held', target: '', remote_address: null},
  ...{result: 'ok', detail: `${reason}, score ${score}`, hash: ''},
});

/** The id names the node, the symbols have a table of their own, and who has asked for it is said with the recipients. */
const {node_id, symbols, release_requested, ...envelopeFields} = heldMailFields();

const envelopeDetails = (mail: HeldMailDetail): Detail[] =>
  Object.values(envelopeFields).map(({label, cell, value = cell}) => [label, value(mail)]);

/** Indented, so that no line of a mail looks like a line of mfctl. */
const section = (title: string, text: string): string => (text === '' ? '' : `${title}:\n${text.replace(/^(?=.)/gm, '  ')}`);
