import {type ReactElement, useSyncExternalStore} from 'react';
import {eventTypes} from '../../../../shared/event-type.ts';
import {checkedQuery, type TailNeeds, tailBindings} from '../../list/tail-bindings.ts';
import {tailHeight} from '../../list/tail-lines.ts';
import {parseQuery, type TailQuery} from '../../list/tail-query.ts';
import {useBindings} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {useShell} from '../../shell/shell.ts';
import {eventBanners, eventLines} from './event-lines.ts';
import {eventPage} from './event-page.ts';
import {type EventRow, eventTerms, type LogRow} from './event-row.ts';

export const EventsScreen = (): ReactElement => {
  const shell = useShell();
  const {app, size, isActive} = shell;
  const {theme, eventLog: log} = app;
  const tail = useSyncExternalStore(log.subscribe, log.get);
  const live = useSyncExternalStore(app.live.subscribe, app.live.state);
  const facts = {live, me: app.me, heardSinceMs: log.heardSinceMs(), lostAtMs: log.lostAtMs()};
  const nodes = tail.rows.flatMap(row => (row.kind === 'event' ? row.node : []));

  const narrow = (query: TailQuery): void => log.dispatch({kind: 'narrowed', query});
  const needs: TailNeeds<LogRow> = {
    shell,
    tail,
    height: tailHeight(size, eventBanners(facts)),
    dispatch: log.dispatch,
    terms: {type: eventTypes, node: nodes},
    hint: 'words, type:held,health and node:NAME',
    check: typesFault,
    narrow,
    show: row => {
      if (row.kind === 'event') void eventPage(app.client, row, theme).then(shell.openLater);
    },
  };

  useBindings({
    bindings: [
      ...tailBindings(needs),
      {keys: ['t'], label: 'type', help: 'one type of event after the other, then all', run: () => narrow(nextType(tail.query))},
      {
        keys: ['o'],
        help: 'the screen that an event is about',
        run: () => {
          const row = tail.shown[tail.position.cursor];
          if (row?.kind === 'event') shell.goTo(screenOf[row.type]);
        },
      },
    ],
    commands: [
      {
        name: 'filter',
        help: `show only some events; ${needs.hint}`,
        run: text => narrow(checkedQuery(text, eventTerms, typesFault)),
      },
    ],
  });
  return <Lines lines={eventLines(tail, facts, {size, theme, isActive})} width={size.columns} height={size.rows} />;
};

const screenOf = {
  held: 'quarantine',
  released: 'quarantine',
  discarded: 'quarantine',
  domain: 'domains',
  key: 'keys',
  health: 'cluster',
} as const satisfies Record<EventRow['type'], string>;

const typesFault = ({terms}: TailQuery): string | undefined => {
  const types: readonly string[] = eventTypes;
  const wrong = terms.type?.split(',').find(type => !types.includes(type.toLowerCase()));
  return wrong === undefined ? undefined : `there is no type ${wrong}; there are ${eventTypes.join(', ')}`;
};

/** What else is looked for stays. */
const nextType = ({text, terms}: TailQuery): TailQuery => {
  const others = text.replace(/(^|\s)type:\S+/g, '').trim();
  const next = eventTypes[eventTypes.indexOf(terms.type as EventRow['type']) + 1];
  return parseQuery(next === undefined ? others : `type:${next} ${others}`, eventTerms);
};
