// A reducer with its state, for what goes on while no component shows it.

export interface Store<S, E> {
  /** The same object until something changes. */
  get(): S;
  subscribe(listener: () => void): () => void;
  dispatch(event: E): void;
}

export const createStore = <S, E>(reducer: (state: S, event: E) => S, initial: S): Store<S, E> => {
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
