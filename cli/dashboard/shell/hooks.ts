import {useEffect, useEffectEvent, useLayoutEffect, useReducer, useSyncExternalStore} from 'react';
import type {AppContext} from './app-context.ts';
import {type ScreenBindings, useShell} from './shell.ts';
import type {Source} from './source.ts';
import type {Watched} from './store.ts';

export const useWatched = <T>({get, subscribe}: Watched<T>): T => useSyncExternalStore(subscribe, get);

/** Calls the listener with each new value before it is drawn, so that both are drawn together. */
export const useValues = <T>(source: Source<T>, listener: (value: T) => void): void => {
  const onValue = useEffectEvent(listener);
  useEffect(() => {
    let last: T | undefined;
    const check = (): void => {
      const {value} = source.get();
      if (value === undefined || value === last) return;
      last = value;
      onValue(value);
    };
    check();
    return source.subscribe(check);
  }, [source]);
};

/** Draws again after each interval, for ages and countdowns. */
export const useTicks = (everyMs: number): void => {
  const [ticks, tick] = useReducer((count: number) => count + 1, 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each tick is followed by the next
  useEffect(() => {
    const timer = setTimeout(tick, everyMs);
    return () => clearTimeout(timer);
  }, [ticks, everyMs]);
};

/** Registers the keys and commands of the shown screen after each drawing. */
export const useBindings = (bindings: ScreenBindings): void => {
  const shell = useShell();
  useLayoutEffect(() => shell.bind(bindings));
};

/** A reducer whose state survives while another screen is shown. */
export const useKeptReducer = <S, E>(app: AppContext, name: string, reducer: (state: S, event: E) => S, initial: S) => {
  const [state, dispatch] = useReducer(reducer, app.kept.has(name) ? (app.kept.get(name) as S) : initial);
  useLayoutEffect(() => {
    app.kept.set(name, state);
  }, [app, name, state]);
  return [state, dispatch] as const;
};
