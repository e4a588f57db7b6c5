import type {HeldMail} from '../../../../shared/held-mail.ts';
import {briefTimeText, firstOf, senderText, sizeText, timeText} from '../../../output/cell-text.ts';
import type {TuiColumn} from '../../list/table-lines.ts';
import {type Thresholds, toneOfScore} from './score-tone.ts';

/** Narrower screens show short timestamps. */
const wideFrom = 130;
/** Subject and sender get their width before further columns appear. */
const easyFrom = 100;

export const mailColumns = (width: number, thresholds: Thresholds): TuiColumn<HeldMail>[] => [
  width >= wideFrom
    ? {title: 'ARRIVED', cell: mail => timeText(mail.arrived_at), width: 20}
    : {title: 'ARRIVED', cell: mail => briefTimeText(mail.arrived_at), width: 12},
  {title: 'SCORE', cell: scoreText, width: 6, align: 'right', style: mail => toneOfScore(mail, thresholds)},
  {title: 'REASON', cell: mail => mail.reason, width: 8, dropRank: 5},
  {title: 'FROM', cell: mail => senderText(mail.sender), width: width >= easyFrom ? 20 : 12, grow: 3, dropRank: 7},
  {title: 'TO', cell: mail => firstOf(mail.recipients), width: width >= easyFrom ? 18 : 12, grow: 2, dropRank: 6},
  {title: 'SUBJECT', cell: mail => mail.subject, width: width >= easyFrom ? 36 : 14, grow: 5},
  {title: 'SIZE', cell: mail => sizeText(mail.size_bytes), width: 10, align: 'right', dropRank: 4},
  {title: 'NODE', cell: mail => mail.node_id, width: 12, dropRank: 3},
  {title: 'SYMBOLS', cell: mail => mail.symbols.join(' '), width: 30, grow: 2, dropRank: 1},
];

const scoreText = ({score}: HeldMail): string => String(Math.round(score * 100) / 100);
