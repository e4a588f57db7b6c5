// Which keys are shown in which order, and which one is under the cursor. Plain data.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {type ListExtent, type ListPosition, listStart, moved, within} from '../../list/list-window.ts';
import type {KeyName} from '../../shell/keys.ts';
import {conditionOf} from './key-facts.ts';

export const sortings = ['name', 'state', 'last used', 'end', 'scope', 'age'] as const;
export type Sorting = (typeof sortings)[number];

export interface KeysState {
  sorting: Sorting;
  filter: string;
  /** The key under the cursor: it stays there when the list changes around it. */
  chosenId: number | undefined;
  position: ListPosition;
}

export const keysStart: KeysState = {sorting: 'name', filter: '', chosenId: undefined, position: listStart};

export type KeysEvent =
  | {kind: 'moved'; key: KeyName; keys: readonly ApiKey[]; height: number}
  | {kind: 'sorted'; keys: readonly ApiKey[]}
  | {kind: 'filtered'; text: string; keys: readonly ApiKey[]};

export const afterKeysEvent = (state: KeysState, event: KeysEvent): KeysState => {
  switch (event.kind) {
    case 'moved': {
      const extent = {count: event.keys.length, height: event.height};
      const position = moved(positionIn(state, event.keys, event.height), event.key, extent);
      return position ? {...state, position, chosenId: event.keys[position.cursor]?.id} : state;
    }
    case 'sorted': {
      const sorting = sortings[(sortings.indexOf(state.sorting) + 1) % sortings.length] ?? 'name';
      return {...state, sorting, chosenId: chosenIn(state, event.keys)?.id};
    }
    case 'filtered':
      return {...state, filter: event.text, chosenId: chosenIn(state, event.keys)?.id};
    default:
      return event satisfies never;
  }
};

/** As they are shown. */
export const shownKeys = (
  keys: readonly ApiKey[],
  {sorting, filter}: Pick<KeysState, 'sorting' | 'filter'>,
  nowMs: number,
): ApiKey[] => {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const isMeant = (key: ApiKey): boolean => {
    const {state, text} = conditionOf(key, nowMs);
    const searched = [key.id, key.name, key.key_prefix, key.scope, key.domain ?? '', state, text].join(' ').toLowerCase();
    return words.every(word => searched.includes(word));
  };
  return keys.filter(isMeant).sort((a, b) => compare[sorting](a, b, nowMs) || byName(a, b) || a.id - b.id);
};

const byName = (a: ApiKey, b: ApiKey): number => a.name.localeCompare(b.name, 'en');
const byTime = (a: string | null, b: string | null, whenNull: string): number =>
  (a ?? whenNull).localeCompare(b ?? whenNull, 'en');

const compare: Record<Sorting, (a: ApiKey, b: ApiKey, nowMs: number) => number> = {
  name: byName,
  // What wants to be looked at comes first.
  state: (a, b, nowMs) => conditionOf(a, nowMs).rank - conditionOf(b, nowMs).rank,
  'last used': (a, b) => byTime(b.last_used_at, a.last_used_at, ''),
  end: (a, b) => byTime(a.expires_at, b.expires_at, '9'),
  scope: (a, b) => a.scope.localeCompare(b.scope, 'en') || byTime(a.domain, b.domain, ''),
  age: (a, b) => byTime(b.created_at, a.created_at, ''),
};

export const positionIn = ({chosenId, position}: KeysState, keys: readonly ApiKey[], height: number): ListPosition => {
  const at = keys.findIndex(({id}) => id === chosenId);
  const extent: ListExtent = {count: keys.length, height};
  return within(at === -1 ? position : {...position, cursor: at}, extent);
};

export const chosenIn = (state: KeysState, keys: readonly ApiKey[]): ApiKey | undefined =>
  keys[positionIn(state, keys, keys.length).cursor];
