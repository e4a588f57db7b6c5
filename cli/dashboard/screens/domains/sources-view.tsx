// View of the sources of mail from one domain, as the reports of others list them.
import type {ReactElement} from 'react';
import type {ReportedSource, ReportedSources} from '../../../../shared/reported-source.ts';
import {sourceFields} from '../../../dmarc/source-fields.ts';
import {countText, percentText, plural} from '../../../output/cell-text.ts';
import {type List, screenColumns} from '../../list/list.ts';
import {hasWords} from '../../list/list-query.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import type {AppContext} from '../../shell/app-context.ts';
import {detailPage, pairsOf} from '../../shell/fit-text.ts';
import {useKeptReducer, useWatched} from '../../shell/hooks.ts';
import {useShell} from '../../shell/shell.ts';
import type {Loaded, Source} from '../../shell/source.ts';
import {backBinding} from './domain-view.tsx';
import type {DomainsEvent} from './domains-list.ts';

export interface ReadSources {
  reported: ReportedSources;
  unreachableNodes: readonly string[];
}

interface SourcesViewProps {
  name: string;
  dispatch(event: DomainsEvent): void;
}

export const SourcesView = ({name, dispatch}: SourcesViewProps): ReactElement => {
  const {app, open} = useShell();
  const [isVerified, dispatchVerified] = useKeptReducer(
    app,
    `sources of ${name}: verified`,
    (before: boolean, _event: 'other') => !before,
    true,
  );
  const source = sourcesSource(app, name, isVerified);
  const [state, dispatchList] = useListState(`sources of ${name}`);
  const back = () => (state.filter === '' ? dispatch({kind: 'back'}) : dispatchList({kind: 'filtered', filter: ''}));
  return (
    <ListScreen
      {...{list: sourcesList(name, useWatched(source), isVerified), state, dispatch: dispatchList, refresh: source.refresh}}
      bindings={row => [
        {
          keys: ['enter', 'l', 'right'],
          label: 'show',
          help: 'all that is reported of the source under the cursor',
          run: () => row && open(detailPage(`Mail from ${name}`, pairsOf(sourceFields, row, undefined), app.theme)),
        },
        {
          keys: ['v'],
          label: isVerified ? 'all reports' : 'verified reports',
          help: 'verified reports alone, or all of them: anybody can send a report that claims anything',
          run: () => dispatchVerified('other'),
        },
        backBinding(back),
      ]}
    />
  );
};

/** Reports come once a day, and each answer looks up names in DNS. */
const everyMs = 60_000;

const sourcesSource = ({client, source}: AppContext, domain: string, isVerified: boolean): Source<ReadSources> =>
  source(`${isVerified ? 'verified' : 'all'} sources of ${domain}`, {
    load: async () => {
      const {data, unreachableNodes} = await client.dmarc.sources({domain, ...(isVerified && {verified: true})});
      return {reported: data, unreachableNodes};
    },
    refreshOn: [],
    everyMs,
    whileLiveMs: everyMs,
  });

const columns = screenColumns(sourceFields, undefined);

const failing = ({count, passed}: ReportedSource): number => count - passed;

export const sourcesList = (name: string, loaded: Loaded<ReadSources>, isVerified: boolean): List<ReportedSource> => {
  const {value, failure, loadedAtMs} = loaded;
  const kind = isVerified ? 'verified reports' : 'all reports';
  const silent = value?.unreachableNodes ?? [];
  return {
    ...{rows: value?.reported.sources, failure, loadedAtMs},
    keyOf: ({source_ip}) => source_ip,
    columns: () => columns,
    head: () => [name, ...(value ? [totalText(value.reported, kind)] : ['DMARC sources'])],
    matches: (row, {words}) =>
      hasWords(
        columns.map(({cell}) => String(cell(row) ?? '')),
        words,
      ),
    hint: 'words of what is shown',
    orders: [
      {name: 'mails', compare: (a, b) => b.count - a.count},
      {name: 'failing mails', compare: (a, b) => failing(b) - failing(a)},
    ],
    banners:
      silent.length === 0
        ? []
        : [{text: `! ${silent.join(', ')} did not answer: reports received there are missing`, tone: 'warn'}],
    empty: [`Nothing in 30 days from ${kind}: they are sent to the addresses of dmarc.receive_at`],
    ending:
      value && value.reported.sources.length < value.reported.source_count
        ? `and ${countText(value.reported.source_count - value.reported.sources.length)} more with fewer mails`
        : undefined,
  };
};

/** `1,000 mails in 28 verified reports, 97 % pass DMARC` */
const totalText = ({count, passed, report_count: reports}: ReportedSources, kind: string): string =>
  count === 0
    ? `DMARC sources, ${kind}`
    : `${plural(count, 'mail')} in ${countText(reports)} ${kind}, ${percentText(passed, count)} pass DMARC`;
