// History of one mail: a page, and lines for the preview of held mail. Text of the mail is indented, so that none of its lines looks
// like a line of the dashboard.
import type {MailEvent} from '../../../../shared/mail-event.ts';
import {truncate} from '../../../output/display-width.ts';
import {happened, mailDetails} from '../../../trace/story.ts';
import {type DetailPair, detailLines, wrapText} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Theme} from '../../shell/theme.ts';

/** Of the entries of one mail, oldest first. */
export const historyPage = (events: readonly MailEvent[], theme: Theme): Page => ({
  kind: 'page',
  title: 'What happened to this mail',
  lines: width => [...historyLines(events, width, theme), '', ...detailLines(pairsOf(events), width, theme)],
});

const maxEntries = 20;

const pairsOf = (events: readonly MailEvent[]): DetailPair[] =>
  mailDetails(events).flatMap(([label, value]): DetailPair[] => {
    if (typeof value !== 'object' || value === null) return [[label, value]];
    const more = value.length - maxEntries;
    return [...value.slice(0, maxEntries), ...(more > 0 ? [`and ${more} more`] : [])].map((text, at) => [
      at === 0 ? label : ' ',
      text,
    ]);
  });

const indent = '  ';

/** Each entry begins with its time. */
export const historyLines = (events: readonly MailEvent[], width: number, theme: Theme): string[] =>
  happened(events).flatMap(({text, isFirst, time}) => [
    ...(isFirst ? [theme(truncate(time, width), 'title')] : []),
    ...wrapText(text, width - indent.length).map(line => indent + line),
  ]);
