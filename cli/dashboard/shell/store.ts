// Observable values, for state that outlives the component that shows it.

export interface Watched<T> {
  /** The same object until something changes. */
  get(): T;
  /** Calls the listener after each change. Returns a function that removes it. */
  subscribe(listener: () => void): () => void;
}

export interface Value<T> extends Watched<T> {
  set(next: T): void;
}

export interface Store<S, E> extends Watched<S> {
  dispatch(event: E): void;
}

export const createValue = <T>(initial: T): Value<T> => {
  const listeners = new Set<() => void>();
  let value = initial;
  return {
    get: () => value,
    set: next => {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe: listener => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

export const createStore = <S, E>(reducer: (state: S, event: E) => S, initial: S): Store<S, E> => {
  const {get, subscribe, set} = createValue(initial);
  return {get, subscribe, dispatch: event => set(reducer(get(), event))};
};
