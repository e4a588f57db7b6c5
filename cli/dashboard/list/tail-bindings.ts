// Keys that every tail has.
import {CliError} from '../../errors.ts';
import type {Binding} from '../shell/keys.ts';
import type {Shell} from '../shell/shell.ts';
import {movingKeys} from './list-window.ts';
import type {Tail, TailEvent, TailRow} from './tail.ts';
import {completedQuery, parseQuery, type TailQuery} from './tail-query.ts';

export interface TailNeeds<R extends TailRow> {
  shell: Pick<Shell, 'open'>;
  tail: Tail<R, TailQuery>;
  /** Rows that have room. */
  height: number;
  dispatch(event: TailEvent<R, TailQuery>): void;
  /** What `/` knows besides words, with the values that are known of it. */
  terms: Readonly<Record<string, readonly string[]>>;
  /** What the terms are for. */
  hint: string;
  /** Why such a filter cannot be used. */
  check?(query: TailQuery): string | undefined;
  narrow(query: TailQuery): void;
  /** Shows all of the row under the cursor. */
  show(row: R): void;
}

export const tailBindings = <R extends TailRow>(needs: TailNeeds<R>): Binding[] => {
  const {tail, height, dispatch} = needs;
  const row = tail.shown[Math.min(tail.position.cursor, tail.shown.length - 1)];
  return [
    {keys: movingKeys, help: 'move; g is the newest, and follows it', run: key => dispatch({kind: 'moved', key, height})},
    {keys: ['enter'], label: 'all of it', help: 'everything that is known of this entry', run: () => row && needs.show(row)},
    {
      keys: ['p', 'space'],
      label: tail.isPaused ? 'go on' : 'pause',
      help: 'pause, and go on: what comes meanwhile is counted and kept',
      run: () => dispatch({kind: tail.isPaused ? 'resumed' : 'paused'}),
    },
    {keys: ['/'], label: 'filter', help: `show only some; ${needs.hint}`, run: () => openFilter(needs, tail.query.text)},
    {keys: ['escape'], help: 'no filter', run: () => tail.query.text !== '' && needs.narrow(parseQuery('', []))},
  ];
};

const openFilter = <R extends TailRow>({shell, terms, hint, check, narrow}: TailNeeds<R>, text: string): void => {
  const names = Object.keys(terms);
  shell.open({
    kind: 'prompt',
    label: 'Filter',
    text,
    hint: () => `${hint}; tab completes`,
    check: typed => check?.(parseQuery(typed, names)),
    complete: typed => completedQuery(typed, terms),
    onSubmit: typed => narrow(parseQuery(typed, names)),
  });
};

/** For `:filter TEXT`: what a prompt would have refused. */
export const checkedQuery = (text: string, names: readonly string[], check?: TailNeeds<TailRow>['check']): TailQuery => {
  const query = parseQuery(text, names);
  const fault = check?.(query);
  if (fault !== undefined) throw new CliError('usage', fault);
  return query;
};
