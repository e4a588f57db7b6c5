// Confirmed actions, which can be undone for a while: waiting → running → ended, or waiting → taken back.
import {createValue, type Watched} from './store.ts';

export interface ActionReport {
  done: number;
  total: number;
}

export interface DeferredAction {
  /** Such as `release 10 mails`, for `Release 10 mails in 5 s`. */
  what: string;
  /** Runs the action and resolves with a message; rejects with a CliError. Not called when it was taken back. */
  run(onProgress: (report: ActionReport) => void): Promise<string>;
  /** Called after it was taken back, ended or failed. */
  onSettled?(): void;
}

export interface DeferredState {
  id: number;
  what: string;
  state: 'waiting' | 'running';
  /** When it starts. */
  startsAtMs: number;
  /** How long it waits in all. */
  delayMs: number;
  progress: ActionReport | undefined;
}

/** Oldest first. */
export interface DeferredActions extends Watched<readonly DeferredState[]> {
  add(action: DeferredAction): void;
  /** Takes back the latest that has not begun; returns what it was. */
  takeBack(): string | undefined;
  /** Takes back all that have not begun; returns what they were. */
  dropAll(): string[];
}

interface DeferredNeeds {
  delayMs: number;
  now(): number;
  onDone(text: string): void;
  onFailed(error: unknown, what: string): void;
}

export const createDeferredActions = ({delayMs, now, onDone, onFailed}: DeferredNeeds): DeferredActions => {
  const actions = new Map<number, {action: DeferredAction; timer: NodeJS.Timeout}>();
  const {get, subscribe, set} = createValue<readonly DeferredState[]>([]);
  let lastId = 0;

  const change = (id: number, part: Partial<DeferredState>): void =>
    set(get().map(state => (state.id === id ? {...state, ...part} : state)));
  const forget = (id: number): void => {
    actions.get(id)?.action.onSettled?.();
    actions.delete(id);
    set(get().filter(state => state.id !== id));
  };
  const start = async (id: number, {what, run}: DeferredAction): Promise<void> => {
    change(id, {state: 'running'});
    try {
      onDone(await run(progress => change(id, {progress})));
    } catch (error) {
      onFailed(error, what);
    } finally {
      forget(id);
    }
  };
  const drop = ({id, what}: DeferredState): string => {
    clearTimeout(actions.get(id)?.timer);
    forget(id);
    return what;
  };

  return {
    get,
    subscribe,
    add: action => {
      lastId += 1;
      const id = lastId;
      actions.set(id, {action, timer: setTimeout(() => void start(id, action), delayMs)});
      set([...get(), {id, what: action.what, state: 'waiting', startsAtMs: now() + delayMs, delayMs, progress: undefined}]);
    },
    takeBack: () => {
      const latest = get().findLast(({state}) => state === 'waiting');
      return latest && drop(latest);
    },
    dropAll: () =>
      get()
        .filter(({state}) => state === 'waiting')
        .map(drop),
  };
};
