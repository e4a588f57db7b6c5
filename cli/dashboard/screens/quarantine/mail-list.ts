// List of held mail: reads the rows that are shown, and reads them again after events, while the screen is shown.

import type {Domain} from '../../../../shared/domain.ts';
import {domainDefaults} from '../../../../shared/field-rules.ts';
import type {HeldMail} from '../../../../shared/held-mail.ts';
import type {Client} from '../../../client/client.ts';
import type {Cell, Tone} from '../../../output/column.ts';
import {heldMailFields} from '../../../quarantine/held-mail-columns.ts';
import type {TuiColumn} from '../../list/list.ts';
import type {Live} from '../../shell/live.ts';
import {createStore} from '../../shell/store.ts';
import {afterEvent, initialList, type ListEvent} from './list-state.ts';
import {createReadLoop, findCursor, missingRows, readWindow, rowsAroundCursor} from './read-loop.ts';

interface MailListNeeds {
  client: Pick<Client, 'quarantine'>;
  live: Pick<Live, 'on' | 'get' | 'answered' | 'failed'>;
  now(): number;
}

export const createMailList = ({client, live, now}: MailListNeeds) => {
  const {get, subscribe, dispatch: reduce} = createStore(afterEvent, initialList());
  const dispatch = (event: ListEvent): void => {
    const before = get();
    reduce(event);
    if (get() !== before) loop.run();
  };
  const list = {client, now, get, dispatch};

  const nextRead = (isStale: boolean): (() => Promise<void>) | undefined => {
    if (get().isLost) return () => findCursor(list);
    if (isStale) return () => readWindow(list, rowsAroundCursor(get()), {isReread: true});
    const missing = missingRows(get());
    return missing && (() => readWindow(list, missing, {isReread: false}));
  };
  const loop = createReadLoop({
    live,
    now,
    next: nextRead,
    keyOf: isStale => {
      const {version, isLost} = get();
      return JSON.stringify([version, isStale, isLost, missingRows(get())]);
    },
    onFailure: failure => dispatch({type: 'failed', failure}),
  });

  return {
    get,
    subscribe,
    dispatch,
    /** Reads the rows on the screen again. */
    refresh: loop.refresh,
    /** Starts reading. Returns a function that stops it. */
    show: (): (() => void) => {
      const stop = live.on(['held', 'released', 'discarded'], loop.wake);
      loop.start();
      return () => {
        stop();
        loop.stop();
      };
    },
  };
};

export const mailColumns = (screenWidth: number, thresholds: Thresholds): TuiColumn<HeldMail>[] =>
  Object.entries(heldMailFields).flatMap(([name, {value, column, screen}]): TuiColumn<HeldMail>[] => {
    if (!screen) return [];
    const {roomy, ...shape} = screen;
    const isRoomy = roomy === undefined || screenWidth >= roomy.from;
    const {title = '', align, cell = (mail: HeldMail) => value(mail) as Cell, brief = cell} = column ?? {};
    return [
      {
        ...{title, cell: isRoomy ? cell : brief, ...(align && {align}), ...shape, ...(isRoomy && roomy && {width: roomy.width})},
        ...(name === 'score' && {style: mail => toneOfScore(mail, thresholds)}),
      },
    ];
  });

/** By domain, as far as they are known. */
export type Thresholds = ReadonlyMap<string, Pick<Domain, 'quarantine_threshold' | 'reject_threshold'>>;

/** By the distance to rejection: bad in the last third between the thresholds, warn in the second. */
export const toneOfScore = (
  {recipients, score}: Pick<HeldMail, 'recipients' | 'score'>,
  thresholds: Thresholds,
): Tone | undefined => {
  const address = recipients[0] ?? '';
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  const {quarantine_threshold: hold, reject_threshold: reject} = thresholds.get(domain) ?? domainDefaults;
  const part = (score - hold) / Math.max(0.001, reject - hold);
  if (part >= 2 / 3) return 'bad';
  return part >= 1 / 3 ? 'warn' : undefined;
};
