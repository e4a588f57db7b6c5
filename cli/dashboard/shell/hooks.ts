// Hooks of React: subscriptions, and the services of the dashboard.
import {useEffect, useEffectEvent, useLayoutEffect, useMemo, useReducer, useRef, useState, useSyncExternalStore} from 'react';
import {asCliError} from '../../errors.ts';
import type {AppContext} from './app-context.ts';
import {createDeferredActions} from './deferred-actions.ts';
import type {Binding} from './keys.ts';
import {maxMessages, type SaidMessage} from './messages-page.ts';
import type {Modal} from './modal.ts';
import {type ScreenBindings, type Shell, useShell} from './shell.ts';
import type {Message} from './shell-lines.ts';
import type {Source} from './source.ts';
import {createStore, type Watched} from './store.ts';

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
  const store = app.kept(name, () => createStore(reducer, initial));
  return [useWatched(store), store.dispatch] as const;
};

const messageMs = 10_000;

/** `footer` are the labels of the screen's keys, see `labelsOf`. */
export const useServices = (app: AppContext, undoMs: number) => {
  // The first one is shown.
  const [modals, setModals] = useState<readonly {modal: Modal; id: number}[]>([]);
  const [message, setMessage] = useState<Message & {untilMs: number}>();
  const [footer, setFooter] = useState('');
  const bindings = useRef<ScreenBindings>({bindings: []});

  const services = useMemo(() => {
    let said: readonly SaidMessage[] = [];
    const say: Shell['say'] = (text, tone) => {
      const atMs = app.now();
      said = [...said, {text, tone, atMs}].slice(-maxMessages);
      setMessage({text, tone, untilMs: atMs + messageMs});
    };
    const fail: Shell['fail'] = error => {
      const {detail, code, hint} = asCliError(error);
      say(`${detail} (${code})${hint === undefined ? '' : `; ${hint}`}`, 'bad');
    };
    const deferred = createDeferredActions({
      delayMs: undoMs,
      now: app.now,
      onDone: text => say(text, 'good'),
      onFailed: fail,
    });
    let lastId = 0;
    const numbered = (next: Modal) => {
      lastId += 1;
      return {modal: next, id: lastId};
    };
    return {
      deferred,
      said: () => said,
      say,
      fail,
      open: (next: Modal): void => {
        const opened = numbered(next);
        setModals(others => [opened, ...others]);
      },
      openLater: (next: Modal): void => {
        const opened = numbered(next);
        setModals(others => [...others, opened]);
      },
      close: () => setModals(([, ...others]) => others),
      defer: deferred.add,
      bind: (next: ScreenBindings): void => {
        bindings.current = next;
        setFooter(labelsOf(next.bindings.filter(({needs}) => needs === undefined || app.may(needs))));
      },
    };
  }, [app, undoMs]);
  // However the dashboard ends, actions that have not begun are dropped.
  useLayoutEffect(() => () => void services.deferred.dropAll(), [services]);
  useEffect(() => {
    if (typeof app.greeting === 'string') services.say(app.greeting, 'good');
    else if (app.greeting) services.fail(app.greeting);
  }, [app, services]);

  return {services, modal: modals[0], message, footer, bindings};
};

/** One text, so that it is drawn again only when it differs. */
export const labelsOf = (bindings: readonly Binding[]): string =>
  bindings.flatMap(({keys, label}) => (label === undefined ? [] : [`${shownKey(keys[0] ?? '')}\t${label}`])).join('\n');

const shownKey = (key: string): string => (key === 'escape' ? 'esc' : key);
