import type {ReactElement} from 'react';
import {eventTypes} from '../../../../shared/event-type.ts';
import {queryOf} from '../../list/list.ts';
import type {ListQuery} from '../../list/list-query.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import {pauseBinding} from '../../list/tail.ts';
import type {EventRow} from '../../shell/event-log.ts';
import {useWatched} from '../../shell/hooks.ts';
import {useShell} from '../../shell/shell.ts';
import {eventPage, eventsList} from './events-list.ts';
export const EventsScreen = (): ReactElement => {
  const shell = useShell();
  const {app} = shell;
  const {eventLog: log, me} = app;
  const tail = useWatched(log);
  const live = useWatched(app.live);
  const [state, dispatch] = useListState('events');
  const list = eventsList(tail, {live, me, receivingSinceMs: log.receivingSinceMs(), lostAtMs: log.lostAtMs()});

  return (
    <ListScreen
      {...{list, state, dispatch}}
      bindings={row => [
        {
          keys: ['enter'],
          label: 'all of it',
          help: 'everything that is known of this entry',
          run: () => row?.kind === 'event' && void eventPage(app.client, row, app.theme).then(shell.openLater),
        },
        pauseBinding(tail, () => log.dispatch({kind: 'pause-toggled'})),
        {
          keys: ['t'],
          label: 'type',
          help: 'one type of event after the other, then all',
          run: () => dispatch({kind: 'filtered', filter: nextType(queryOf(list, state.filter))}),
        },
        {
          keys: ['o'],
          help: 'the screen that an event is about',
          run: () => row?.kind === 'event' && shell.goTo(screenOf[row.type]),
        },
      ]}
    />
  );
};

const screenOf = {
  held: 'quarantine',
  released: 'quarantine',
  discarded: 'quarantine',
  domain: 'domains',
  key: 'keys',
  health: 'cluster',
} as const satisfies Record<EventRow['type'], string>;

/** Keeps the other parts of the filter. */
const nextType = ({text, terms}: ListQuery): string => {
  const others = text.replace(/(^|\s)type:\S+/g, '').trim();
  const next = eventTypes[eventTypes.indexOf(terms.type as EventRow['type']) + 1];
  return next === undefined ? others : `type:${next} ${others}`;
};
