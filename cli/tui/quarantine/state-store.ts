// State that outlives the component which draws it.

export interface StateStore<S, E> {
  get(): S;
  subscribe(listener: () => void): () => void;
  dispatch(event: E): void;
}

export const createStateStore = <S, E>(reducer: (state: S, event: E) => S, initial: S): StateStore<S, E> => {
  const listeners = new Set<() => void>();
  let state = initial;
  return {
    get: () => state,
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    dispatch: event => {
      const next = reducer(state, event);
      if (next === state) return;
      state = next;
      for (const listener of listeners) listener();
    },
  };
};
