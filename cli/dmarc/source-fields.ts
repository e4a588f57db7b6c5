// Sources of mail from a domain, as others report them: each of their fields is declared once, for `dmarc sources` and the dashboard.
import {otherSources, sourceText} from '../../shared/dmarc-lists.ts';
import type {ReportedSource} from '../../shared/reported-source.ts';
import {countText, percentText} from '../output/cell-text.ts';
import type {Field} from '../output/field.ts';

type Count = Exclude<keyof ReportedSource, 'source_ip' | 'name' | 'network' | 'reporters' | 'count'>;

const isFailing = (source: ReportedSource) => (source.passed < source.count ? 'warn' : undefined);

const part = (label: string, name: Count, dropRank: number, screen?: Field<ReportedSource>['screen']): Field<ReportedSource> => ({
  label,
  cell: source => percentText(source[name], source.count),
  column: {align: 'right', dropRank},
  ...(screen && {screen}),
});

export const sourceFields: readonly Field<ReportedSource>[] = [
  {label: 'Source', cell: source => sourceText(source.source_ip), column: {}, screen: {width: 15, grow: 1}},
  {label: 'Name', cell: source => source.name ?? '-', column: {isFlexible: true}, screen: {width: 16, grow: 3}},
  {
    label: 'Network',
    cell: source => (source.source_ip === otherSources ? null : source.network),
    column: {dropRank: 1},
    screen: {width: 18, dropRank: 1},
  },
  {
    label: 'Mails',
    cell: source => source.count,
    column: {align: 'right'},
    screen: {width: 7, cell: source => countText(source.count)},
  },
  {
    label: 'Pass',
    cell: source => percentText(source.passed, source.count),
    column: {align: 'right', tone: isFailing},
    screen: {width: 5, style: isFailing},
  },
  part('SPF', 'spf_passed', 2),
  part('SPF aligned', 'spf_aligned', 3, {title: 'SPF', width: 5, dropRank: 4}),
  part('DKIM', 'dkim_passed', 2),
  part('DKIM aligned', 'dkim_aligned', 3, {title: 'DKIM', width: 5, dropRank: 4}),
  {
    label: 'Reported by',
    cell: source => reportersText(source),
    column: {isFlexible: true, dropRank: 4},
    screen: {width: 16, grow: 2, dropRank: 3},
  },
];

/** `google.com, mail.example (not verified)` */
const reportersText = ({reporters}: ReportedSource): string =>
  reporters.map(({reporter, verified}) => (verified ? reporter : `${reporter} (not verified)`)).join(', ');
