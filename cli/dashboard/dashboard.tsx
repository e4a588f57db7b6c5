// Shell around the screens: header, screen, modal, message, footer; and the way that keys go.
import {Box, useApp} from 'ink';
import {type ReactElement, useRef, useState} from 'react';
import type {Connection} from '../client/connection.ts';
import {ClusterWatch} from './screens/cluster/cluster-watch.tsx';
import {screens} from './screens.ts';
import type {AppContext} from './shell/app-context.ts';
import {globalBindings, handleKey} from './shell/global-keys.ts';
import {useTicks, useWatched} from './shell/hooks.ts';
import {Lines} from './shell/lines.tsx';
import type {Modal} from './shell/modal.ts';
import {modalBorder, questionText} from './shell/modal-lines.ts';
import {type ModalKeys, ModalView} from './shell/modal-view.tsx';
import {pasteIgnored} from './shell/pasted-text.ts';
import type {ScreenGuard} from './shell/screen-guard.ts';
import {type ScreenName, type Shell, ShellContext, type Size} from './shell/shell.ts';
import {briefCue, cutCue, footerLine, messageLine, statusLine, tabsLine, tooSmallLines, usableSize} from './shell/shell-lines.ts';
import type {TerminalInput} from './shell/terminal-input.ts';
import {useRedraw, useTerminalSize} from './shell/terminal-size.ts';
import {useKeys} from './shell/use-keys.ts';
import {labelsOf, useServices} from './shell/use-services.ts';

interface DashboardProps {
  app: AppContext;
  /** How long a confirmed action can be taken back. */
  undoMs: number;
  startScreen: ScreenName;
  terminal: NodeJS.WriteStream;
  input: TerminalInput;
  guard: ScreenGuard;
  onQuit(isInterrupted: boolean): void;
  onSwitch(context: string, screen: ScreenName): void;
  /** As another key, to the node that is shown. */
  onReconnect(connection: Connection, screen: ScreenName, greeting: string): void;
}

/** While a message stands or seconds are counted down. */
const countingMs = 1000;
/** Ages on a quiet screen. One drawing costs some milliseconds, and a dashboard is left open for weeks. */
const agingMs = 5000;

/** Lines above and below the screen. */
const shellRows = 4;

export const Dashboard = (props: DashboardProps): ReactElement => {
  const {app, undoMs, startScreen, terminal, input, guard, onQuit, onSwitch, onReconnect} = props;
  const {exit} = useApp();
  const terminalSize = useTerminalSize(terminal);
  useRedraw(terminalSize, guard);
  const size = usableSize(terminalSize);
  const nowMs = app.now();
  const live = useWatched(app.live);
  const [screen, setScreen] = useState<ScreenName>(startScreen);
  const {services, modal, message, footer, bindings} = useServices(app, undoMs);
  const modalKeys = useRef<ModalKeys>(undefined);
  const waiting = useWatched(services.deferred);
  const notices = useWatched(app.notices);

  const said = message && message.untilMs > nowMs ? message : undefined;
  useTicks(said || waiting.length > 0 ? countingMs : agingMs);

  const modalHeight = modal ? heightOf(modal.modal, {columns: size.columns, rows: size.rows - shellRows}) : 0;
  const leave = (isInterrupted: boolean): void => {
    onQuit(isInterrupted);
    exit();
  };
  const globals = {
    ...services,
    goTo: setScreen,
    app,
    screen,
    bindings,
    quit: leave,
    suspend: guard.suspend,
    switchTo: (name: string) => {
      onSwitch(name, screen);
      exit();
    },
  };
  useKeys(input, {
    onKey: (key, isFirst) => {
      // A yes to a question is the yes of somebody who has seen it.
      if (modal?.modal.kind === 'question' && !isFirst)
        services.say('Typed before the question was shown: it is no answer', 'warn');
      else if (modal) modalKeys.current?.onKey(key);
      else handleKey(key, globals);
    },
    onPaste: paste => {
      if (modal) modalKeys.current?.onPaste(paste);
      else services.say(pasteIgnored(paste), 'warn');
    },
  });

  const {theme} = app;
  const width = size.columns;
  const room = {width, height: modalHeight, theme};
  const body = {columns: width, rows: size.rows - shellRows - modalHeight};
  const reconnect: Shell['reconnect'] = (connection, greeting) => {
    const undone = services.deferred.dropAll();
    onReconnect(connection, screen, [greeting, ...undone.map(what => `not done: ${what}`)].join('; '));
    exit();
  };
  const shell: Shell = {...services, goTo: setScreen, reconnect, app, nowMs, size: body, isActive: modal === undefined};
  const isSmall = size !== terminalSize;
  const Screen = screens[screen];
  /** A modal takes the key. */
  const hasCue = modal === undefined;
  const keys = `${footer}\n${labelsOf(globalBindings(globals))}`
    .split('\n')
    .filter(Boolean)
    .map(text => text.split('\t') as [string, string]);

  return (
    <ShellContext value={shell}>
      <ClusterWatch />
      {isSmall && <Lines lines={tooSmallLines(terminalSize)} width={terminalSize.columns} height={terminalSize.rows} />}
      {/* Kept while it has no room, with what was typed. */}
      <Box flexDirection="column" width={width} height={size.rows} display={isSmall ? 'none' : 'flex'}>
        <Lines
          lines={[
            tabsLine(screen, app.name, {width, theme}),
            statusLine({
              live,
              isReadOnly: app.isReadOnly,
              nowMs,
              node: app.me.node_id,
              width,
              theme,
              cue: hasCue ? briefCue : '',
            }),
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
              takeKeys={keys => {
                modalKeys.current = keys;
              }}
              say={services.say}
              onClose={services.close}
            />
          </Box>
        )}
        <Lines
          lines={[
            messageLine(said, waiting, {nowMs, width, theme, notices, cue: hasCue ? cutCue : ''}),
            modal ? '' : footerLine(theme, width, keys),
          ]}
          width={width}
          height={2}
        />
      </Box>
    </ShellContext>
  );
};

const heightOf = (modal: Modal, {columns, rows: available}: Size): number => {
  const rows = Math.max(0, available);
  switch (modal.kind) {
    case 'prompt':
      return Math.min(rows, 3);
    case 'question':
      return Math.min(rows, Math.max(6, questionText(modal.lines, columns).length + modalBorder));
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
