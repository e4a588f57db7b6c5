// Page of one event. The event of a held mail has few details, so the mail itself is read.
import type {HeldMailDetail} from '../../../../shared/held-mail.ts';
import type {Client} from '../../../client/client.ts';
import {asCliError} from '../../../errors.ts';
import {senderText, sizeText, timeText} from '../../../output/cell-text.ts';
import {type DetailPair, detailLines} from '../../shell/detail-lines.ts';
import type {EventRow} from '../../shell/event-row.ts';
import type {Page} from '../../shell/modal.ts';
import type {Theme} from '../../shell/theme.ts';

const isOfMail = ({type}: EventRow): boolean => type === 'held' || type === 'released' || type === 'discarded';

/** Never rejects: a mail that is no longer held is reported as such. */
export const eventPage = async (client: Pick<Client, 'quarantine'>, row: EventRow, theme: Theme): Promise<Page> => {
  const pairs = isOfMail(row) ? [...eventPairs(row), ...(await mailPairs(client, row))] : eventPairs(row);
  return {kind: 'page', title: `Event: ${row.type}`, lines: width => detailLines(pairs, width, theme)};
};

const eventPairs = (row: EventRow): DetailPair[] => {
  const base: DetailPair[] = [
    ['Time', timeText(row.at)],
    ['Type', row.type],
    ['Node', row.node],
  ];
  switch (row.type) {
    case 'held':
      return [...base, ['Queue id', row.id], ['Subject', row.about], ['From', row.sender], ['To', row.recipient]];
    case 'released':
    case 'discarded':
      return [...base, ['Queue id', row.id], ['Done', row.about]];
    case 'domain':
      return [...base, ['Domain', row.id], ['Change', row.about]];
    case 'key':
      return [...base, ['Key', row.id], ['Change', row.about]];
    case 'health':
      return [...base, ['Health', row.id]];
    default:
      return row.type satisfies never;
  }
};

const mailPairs = async (client: Pick<Client, 'quarantine'>, {node, id}: EventRow): Promise<DetailPair[]> => {
  try {
    const {data} = await client.quarantine.get({node_id: node, queue_id: id});
    return [['', ''], ['Now', 'held: the screen quarantine can release or discard it', 'warn'], ...detailPairs(data)];
  } catch (error) {
    const {code, detail} = asCliError(error);
    if (code === 'not_found' || code === 'conflict') return [['Now', 'not held any more: released, discarded or expired']];
    return [['Now', `not known: ${detail}`, 'warn']];
  }
};

const detailPairs = (mail: HeldMailDetail): DetailPair[] => [
  ['Domain', mail.domain],
  ['Direction', mail.direction],
  ['Recipients', mail.recipients.join(', ')],
  ['Sender', senderText(mail.sender)],
  ['Reason', mail.reason],
  ['Score', mail.score],
  ['Symbols', mail.symbol_scores.map(({name, score}) => `${name} ${score}`).join(', ')],
  ['Size', sizeText(mail.size_bytes)],
  ['Client', `${mail.client_ip} (${mail.helo})`],
];
