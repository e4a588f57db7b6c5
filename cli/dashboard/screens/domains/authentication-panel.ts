// Panel of a domain: what of its mail is authenticated, as this cluster sees it and as others report it.

import {sourceText} from '../../../../shared/dmarc-lists.ts';
import type {DmarcSummary} from '../../../../shared/dmarc-report.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {ReportedSource, ReportedSources} from '../../../../shared/reported-source.ts';
import {undefinedIfNotFound} from '../../../errors.ts';
import {countText, percentText, plural} from '../../../output/cell-text.ts';
import type {AppContext} from '../../shell/app-context.ts';
import type {DetailPair} from '../../shell/fit-text.ts';
import type {Source} from '../../shell/source.ts';

/** Of the last 30 days; undefined if a node of an earlier version does not report it. */
export interface DomainMail {
  received: DmarcSummary | undefined;
  /** By reports whose sender is verified: a forger could claim anything. */
  reported: ReportedSources | undefined;
}

/** Reports come once a day, and each answer looks up names in DNS. */
const everyMs = 60_000;

export const domainMailSource = ({client, source}: AppContext, domain: string): Source<DomainMail> =>
  source(`mail of ${domain}`, {
    load: async () => {
      const [received, reported] = await Promise.all([
        client.dmarc.summary({domain}).catch(undefinedIfNotFound),
        client.dmarc.sources({domain, verified: true}).catch(undefinedIfNotFound),
      ]);
      return {received: received?.data, reported: reported?.data};
    },
    refreshOn: [],
    everyMs,
    whileLiveMs: everyMs,
  });

export const mailPairs = ({dmarc_reporting}: Pick<Domain, 'dmarc_reporting'>, mail: DomainMail | undefined): DetailPair[] => {
  if (!mail) return [];
  return [receivedPair(mail.received, dmarc_reporting), ...reportedPairs(mail.reported)];
};

const receivedPair = (received: DmarcSummary | undefined, isCounted: boolean): DetailPair => {
  if (!received || received.count === 0)
    return ['Received', isCounted ? 'nothing in 30 days' : 'not counted: DMARC reporting is off', 'dim'];
  const {count, passed, sources} = received;
  const total = (name: 'held' | 'rejected') => countText(sources.reduce((sum, source) => sum + source[name], 0));
  return [
    'Received',
    `${plural(count, 'mail')} in 30 days, ${percentText(passed, count)} pass DMARC, ${total('held')} held, ${total('rejected')} rejected`,
  ];
};

const reportedPairs = (reported: ReportedSources | undefined): DetailPair[] => {
  if (!reported || reported.count === 0) return [['Reported', 'no verified reports came in 30 days', 'dim']];
  const {count, passed, report_count, sources} = reported;
  const text = `${plural(count, 'mail')} in ${plural(report_count, 'report')}, ${percentText(passed, count)} pass DMARC`;
  const [worst] = sources.filter(source => failing(source) > 0).toSorted((one, other) => failing(other) - failing(one));
  return [
    ['Reported', text, passed === count ? 'good' : 'warn'],
    ...(worst
      ? [
          [
            'Most fail from',
            `${worst.name ?? sourceText(worst.source_ip)}: ${countText(failing(worst))} of ${plural(worst.count, 'mail')}`,
          ] as const,
        ]
      : []),
  ];
};

const failing = ({count, passed}: ReportedSource): number => count - passed;
