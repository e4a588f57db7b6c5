// What was confirmed and can still be taken back: waiting → running → ended, or waiting → taken back.

export interface ActionReport {
  done: number;
  total: number;
}

export interface DeferredAction {
  /** Such as `release 10 mails`, for `Release 10 mails in 5 s`. */
  what: string;
  /** Does it and resolves with what to say of it; rejects with a CliError. Not called when it was taken back. */
  run(onProgress: (report: ActionReport) => void): Promise<string>;
  /** When it was taken back, ended or failed. */
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

export interface DeferredActions {
  /** Oldest first; the same array until something changes. */
  list(): readonly DeferredState[];
  subscribe(listener: () => void): () => void;
  add(action: DeferredAction): void;
  /** Takes back the latest that has not begun; returns what it was. */
  takeBack(): string | undefined;
  /** Takes back all that have not begun; returns what they were. */
  dropAll(): string[];
}

export interface DeferredNeeds {
  delayMs: number;
  now(): number;
  onDone(text: string): void;
  onFailed(error: unknown, what: string): void;
}

export const createDeferredActions = ({delayMs, now, onDone, onFailed}: DeferredNeeds): DeferredActions => {
  const listeners = new Set<() => void>();
  const actions = new Map<number, {action: DeferredAction; timer: NodeJS.Timeout}>();
  let states: readonly DeferredState[] = [];
  let lastId = 0;

  const set = (next: readonly DeferredState[]): void => {
    states = next;
    for (const listener of listeners) listener();
  };
  const change = (id: number, part: Partial<DeferredState>): void =>
    set(states.map(state => (state.id === id ? {...state, ...part} : state)));
  const forget = (id: number): void => {
    actions.get(id)?.action.onSettled?.();
    actions.delete(id);
    set(states.filter(state => state.id !== id));
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
    list: () => states,
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    add: action => {
      lastId += 1;
      const id = lastId;
      actions.set(id, {action, timer: setTimeout(() => void start(id, action), delayMs)});
      set([...states, {id, what: action.what, state: 'waiting', startsAtMs: now() + delayMs, delayMs, progress: undefined}]);
    },
    takeBack: () => {
      const latest = states.findLast(({state}) => state === 'waiting');
      return latest && drop(latest);
    },
    dropAll: () => states.filter(({state}) => state === 'waiting').map(drop),
  };
};
