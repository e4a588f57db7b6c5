// Shell around the screens: header, screen, modal, message, footer; and the routing of keys.
import {Box, useApp} from 'ink';
import {type ComponentType, type ReactElement, useCallback, useRef, useState} from 'react';
import type {Connection} from '../client/connection.ts';
import {AuditScreen} from './screens/audit/audit-screen.tsx';
import {ClusterScreen} from './screens/cluster/cluster-screen.tsx';
import {ClusterWatch} from './screens/cluster/cluster-watch.tsx';
import {DomainsScreen} from './screens/domains/domains-screen.tsx';
import {EventsScreen} from './screens/events/events-screen.tsx';
import {KeysScreen} from './screens/keys/keys-screen.tsx';
import {QuarantineScreen} from './screens/quarantine/quarantine-screen.tsx';
import {TraceScreen} from './screens/trace/trace-screen.tsx';
import type {AppContext} from './shell/app-context.ts';
import type {DeferredActions, DeferredState} from './shell/deferred-actions.ts';
import {type Globals, globalBindings, handleKey} from './shell/global-keys.ts';
import {labelsOf, useServices, useTicks, useWatched} from './shell/hooks.ts';
import {Lines} from './shell/lines.tsx';
import type {LiveState} from './shell/live.ts';
import type {Modal} from './shell/modal.ts';
import {modalBorder, questionText} from './shell/modal-lines.ts';
import {type ModalKeys, ModalView} from './shell/modal-view.tsx';
import {pasteIgnored} from './shell/pasted-text.ts';
import {type ScreenGuard, useRedraw, useTerminalSize} from './shell/screen-guard.ts';
import type {ScreenName} from './shell/screen-names.ts';
import {type Shell, ShellContext, type Size} from './shell/shell.ts';
import {
  briefCue,
  cutCue,
  footerLine,
  type Message,
  messageLine,
  statusLine,
  tabsLine,
  tooSmallLines,
  usableSize,
} from './shell/shell-lines.ts';
import type {TerminalKeys} from './shell/terminal-keys.ts';
import {useKeys} from './shell/use-keys.ts';

interface DashboardProps {
  app: AppContext;
  /** How long a confirmed action can be undone. */
  undoMs: number;
  startScreen: ScreenName;
  terminal: NodeJS.WriteStream;
  input: TerminalKeys;
  guard: ScreenGuard;
  onQuit(isInterrupted: boolean): void;
  onSwitch(context: string, screen: ScreenName): void;
  /** Reconnects to the same node with another key. */
  onReconnect(connection: Connection, screen: ScreenName, greeting: string): void;
}

const screens: Record<ScreenName, ComponentType> = {
  cluster: ClusterScreen,
  quarantine: QuarantineScreen,
  domains: DomainsScreen,
  keys: KeysScreen,
  audit: AuditScreen,
  events: EventsScreen,
  trace: TraceScreen,
};

/** Redraw interval while a message or a countdown is shown. */
const countingMs = 1000;
/** Redraw interval of a quiet screen, for its ages. One drawing costs some milliseconds, and a dashboard is left open for weeks. */
const agingMs = 5000;

/** Lines above and below the screen. */
const shellRows = 4;

export const Dashboard = (props: DashboardProps): ReactElement => {
  const {app, undoMs, startScreen, terminal, input, guard} = props;
  const terminalSize = useTerminalSize(terminal);
  useRedraw(terminalSize, guard);
  const size = usableSize(terminalSize);
  const nowMs = app.now();
  const live = useWatched(app.live);
  const [screen, setScreen] = useState<ScreenName>(startScreen);
  const {services, modal, message, footer, bindings} = useServices(app, undoMs);
  const waiting = useWatched(services.deferred);
  const exits = useExits(props, screen, services.deferred);

  const said = message && message.untilMs > nowMs ? message : undefined;
  useTicks(said || waiting.length > 0 ? countingMs : agingMs);

  const globals: Globals = {...services, ...exits, goTo: setScreen, app, screen, bindings, suspend: guard.suspend};
  const takeModalKeys = useDashboardKeys(input, modal?.modal, globals);

  const modalHeight = modal ? heightOf(modal.modal, {columns: size.columns, rows: size.rows - shellRows}) : 0;
  const body = {columns: size.columns, rows: size.rows - shellRows - modalHeight};
  const {reconnect} = exits;
  const shell: Shell = {...services, goTo: setScreen, reconnect, app, nowMs, size: body, isActive: modal === undefined};
  const isSmall = size !== terminalSize;
  const Screen = screens[screen];
  const area = {width: size.columns, height: modalHeight, theme: app.theme};

  return (
    <ShellContext value={shell}>
      <ClusterWatch />
      {isSmall && <Lines lines={tooSmallLines(terminalSize)} width={terminalSize.columns} height={terminalSize.rows} />}
      {/* Stays mounted while the terminal is too small, with the text typed so far. */}
      <Box flexDirection="column" width={size.columns} height={size.rows} display={isSmall ? 'none' : 'flex'}>
        <Header {...{shell, screen, live}} />
        <Box width={size.columns} height={Math.max(0, body.rows)} overflow="hidden">
          {body.rows > 0 && <Screen />}
        </Box>
        {modal && (
          <Box width={size.columns} height={modalHeight} flexDirection="column" justifyContent="flex-end">
            <ModalView
              key={modal.id}
              {...{modal: modal.modal, area, takeKeys: takeModalKeys, say: services.say, onClose: services.close}}
            />
          </Box>
        )}
        <Footer {...{shell, said, waiting, labels: `${footer}\n${labelsOf(globalBindings(globals))}`}} />
      </Box>
    </ShellContext>
  );
};

/** Exits of this dashboard. The caller then starts the next one, if any. */
const useExits = ({onQuit, onSwitch, onReconnect}: DashboardProps, screen: ScreenName, deferred: DeferredActions) => {
  const {exit} = useApp();
  return {
    quit: (isInterrupted: boolean): void => {
      onQuit(isInterrupted);
      exit();
    },
    switchTo: (context: string): void => {
      onSwitch(context, screen);
      exit();
    },
    reconnect: (connection: Connection, greeting: string): void => {
      const undone = deferred.dropAll();
      onReconnect(connection, screen, [greeting, ...undone.map(what => `not done: ${what}`)].join('; '));
      exit();
    },
  };
};

/** Sends keys and pastes to the modal while one is open. Returns the function that registers the modal's handlers. */
const useDashboardKeys = (input: TerminalKeys, modal: Modal | undefined, globals: Globals): ((keys: ModalKeys) => void) => {
  const modalKeys = useRef<ModalKeys>(undefined);
  useKeys(input, {
    onKey: (key, isFirst) => {
      // Only a person who has seen the question can answer it, or type a number that it names.
      if (modal?.kind === 'question' && modal.number === undefined && !isFirst)
        globals.say('Typed before the question was shown: not taken as an answer', 'warn');
      else if (modal) modalKeys.current?.onKey(key);
      else handleKey(key, globals);
    },
    onPaste: paste => {
      if (modal) modalKeys.current?.onPaste(paste);
      else globals.say(pasteIgnored(paste), 'warn');
    },
  });
  return useCallback(keys => {
    modalKeys.current = keys;
  }, []);
};

interface HeaderProps {
  shell: Shell;
  screen: ScreenName;
  live: LiveState;
}

const Header = ({shell, screen, live}: HeaderProps): ReactElement => {
  const {app, nowMs, size, isActive} = shell;
  const {theme, isReadOnly, me} = app;
  const width = size.columns;
  const cue = isActive ? briefCue : '';
  const status = statusLine({live, isReadOnly, nowMs, node: me.node_id, width, theme, cue});
  return <Lines lines={[tabsLine(screen, app.name, {width, theme}), status]} width={width} height={2} />;
};

interface FooterProps {
  shell: Shell;
  said: Message | undefined;
  waiting: readonly DeferredState[];
  /** See `labelsOf`. */
  labels: string;
}

/** Without the keys of the screen while a modal takes the keys. */
const Footer = ({shell, said, waiting, labels}: FooterProps): ReactElement => {
  const {app, nowMs, size, isActive} = shell;
  const {theme} = app;
  const width = size.columns;
  const notices = useWatched(app.notices);
  const keys = labels
    .split('\n')
    .filter(Boolean)
    .map(text => text.split('\t') as [string, string]);
  const message = messageLine(said, waiting, {nowMs, width, theme, notices, cue: isActive ? cutCue : ''});
  return <Lines lines={[message, isActive ? footerLine(theme, width, keys) : '']} width={width} height={2} />;
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
