// The frame around the screens: header, screen, modal, message, footer; and where keys go.
import {Box, useApp, useInput, useStdout} from 'ink';
import {type ReactElement, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore} from 'react';
import {asCliError} from '../cli-error.ts';
import {createDeferredActions} from './deferred-actions.ts';
import type {Desk} from './desk.ts';
import {type Frame, FrameContext, type ScreenName, type ScreenOffer, type Size} from './frame.ts';
import {type Message, messageLine, statusLine, tabsLine} from './frame-lines.ts';
import {globalBindings, handleKey} from './global-keys.ts';
import {useNow} from './hooks.ts';
import {createKeyQueue} from './key-queue.ts';
import {type Binding, type KeyName, keyNames} from './keys.ts';
import {Lines} from './lines.tsx';
import type {Modal} from './modal.ts';
import {keysLine} from './modal-lines.ts';
import {ModalView} from './modal-view.tsx';
import {screens} from './screens.ts';

export interface DashboardProps {
  desk: Desk;
  /** How long a confirmed action can be taken back. */
  undoMs: number;
  startScreen: ScreenName;
  onQuit(isInterrupted: boolean): void;
  onSwitch(context: string): void;
}

/** Lines above and below the screen. */
const frameRows = 4;
const messageMs = 10_000;

export const Dashboard = ({desk, undoMs, startScreen, onQuit, onSwitch}: DashboardProps): ReactElement => {
  const {exit} = useApp();
  const size = useTerminalSize();
  const nowMs = useNow(desk);
  const live = useSyncExternalStore(desk.live.subscribe, desk.live.state);
  const [screen, setScreen] = useState<ScreenName>(startScreen);
  const [modal, setModal] = useState<{modal: Modal; id: number}>();
  const [message, setMessage] = useState<Message & {untilMs: number}>();
  const [footer, setFooter] = useState('');
  const offer = useRef<ScreenOffer>({bindings: []});
  const modalKeys = useRef<(key: KeyName) => void>(undefined);

  const services = useMemo(() => {
    const say: Frame['say'] = (text, tone) => setMessage({text, tone, untilMs: desk.now() + messageMs});
    const fail: Frame['fail'] = error => {
      const {detail, code, hint} = asCliError(error);
      say(`${detail} (${code})${hint === undefined ? '' : `; ${hint}`}`, 'bad');
    };
    const deferred = createDeferredActions({
      delayMs: undoMs,
      now: desk.now,
      onDone: text => say(text, 'good'),
      onFailed: fail,
    });
    let modals = 0;
    return {
      deferred,
      say,
      fail,
      open: (next: Modal): void => {
        modals += 1;
        setModal({modal: next, id: modals});
      },
      close: () => setModal(undefined),
      goTo: (next: ScreenName) => setScreen(next),
      defer: deferred.add,
      offer: (next: ScreenOffer): void => {
        offer.current = next;
        setFooter(labelsOf(next.bindings));
      },
    };
  }, [desk, undoMs]);
  const waiting = useSyncExternalStore(services.deferred.subscribe, services.deferred.list);

  const modalHeight = modal ? heightOf(modal.modal, size.rows - frameRows) : 0;
  const leave = (isInterrupted: boolean): void => {
    onQuit(isInterrupted);
    exit();
  };
  const globals = {
    ...services,
    desk,
    screen,
    offer,
    quit: leave,
    switchTo: (name: string) => {
      onSwitch(name);
      exit();
    },
  };
  useKeys(key => {
    if (modal) modalKeys.current?.(key);
    else handleKey(key, globals);
  });

  useEffect(() => {
    if (desk.greeting) services.fail(desk.greeting);
  }, [desk, services]);

  const {theme} = desk;
  const width = size.columns;
  const room = {width, height: modalHeight, theme};
  const body = {columns: width, rows: size.rows - frameRows - modalHeight};
  const frame: Frame = {...services, desk, size: body, isActive: modal === undefined};
  const Screen = screens[screen];
  const said = message && message.untilMs > nowMs ? message : undefined;
  const keys = `${footer}\n${labelsOf(globalBindings(globals))}`
    .split('\n')
    .filter(Boolean)
    .map(text => text.split('\t') as [string, string]);

  return (
    <FrameContext value={frame}>
      <Box flexDirection="column" width={width} height={size.rows}>
        <Lines
          lines={[
            tabsLine(screen, desk.name, {width, theme}),
            statusLine({live, isReadOnly: desk.isReadOnly, nowMs, node: desk.me.node_id, width, theme}),
          ]}
          width={width}
          height={2}
        />
        <Box width={width} height={Math.max(0, body.rows)} overflow="hidden">
          {body.rows > 0 && <Screen />}
        </Box>
        {modal && (
          <Box width={width} height={modalHeight} flexDirection="column" justifyContent="flex-end">
            <ModalView
              key={modal.id}
              modal={modal.modal}
              room={room}
              takeKeys={handler => {
                modalKeys.current = handler;
              }}
              onClose={services.close}
            />
          </Box>
        )}
        <Lines
          lines={[messageLine(said, waiting, {nowMs, width, theme}), modal ? '' : keysLine(theme, width, keys)]}
          width={width}
          height={2}
        />
      </Box>
    </FrameContext>
  );
};

/** One row less than there is: a frame of full height makes ink clear the screen each time. */
const useTerminalSize = (): Size => {
  const {stdout} = useStdout();
  const read = (): Size => ({columns: stdout.columns || 80, rows: (stdout.rows || 24) - 1});
  const [size, setSize] = useState(read);
  useEffect(() => {
    const onResize = () => setSize(read());
    stdout.on('resize', onResize);
    return () => {
      stdout.off('resize', onResize);
    };
  });
  return size;
};

const useKeys = (handle: (key: KeyName) => void): void => {
  const latest = useRef(handle);
  const [handled, setHandled] = useState(0);
  const queue = useMemo(
    () =>
      createKeyQueue(key => {
        latest.current(key);
        setHandled(count => count + 1);
      }),
    [],
  );
  useLayoutEffect(() => {
    latest.current = handle;
  });
  // Drawn together with what the key has changed, and after the effects of what is inside.
  useLayoutEffect(() => {
    if (handled > 0) queue.next();
  }, [handled, queue]);
  useInput((input, key) => queue.add(keyNames(input, key)));
};

/** As one text, which is drawn anew only when it is another one. */
const labelsOf = (bindings: readonly Binding[]): string =>
  bindings.flatMap(({keys, label}) => (label === undefined ? [] : [`${shownKey(keys[0] ?? '')}\t${label}`])).join('\n');

const shownKey = (key: string): string => (key === 'escape' ? 'esc' : key);

const heightOf = (modal: Modal, rows: number): number => {
  switch (modal.kind) {
    case 'prompt':
      return Math.min(rows, 3);
    case 'question':
      return Math.min(rows, Math.max(6, Math.floor(rows / 2)));
    case 'choice':
      return Math.min(rows, modal.items.length + 3);
    case 'form':
      return Math.min(rows, modal.fields.length + 3);
    case 'page':
      return rows;
    default:
      return modal satisfies never;
  }
};
