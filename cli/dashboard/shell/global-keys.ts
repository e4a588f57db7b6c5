// Keys and commands that every screen has.
import type {RefObject} from 'react';
import {CliError} from '../../errors.ts';
import {plural} from '../../output/cell-text.ts';
import type {AppContext} from './app-context.ts';
import type {DeferredActions} from './deferred-actions.ts';
import {helpPage} from './help-page.ts';
import type {Binding, KeyName} from './keys.ts';
import {messagesPage, type SaidMessage} from './messages-page.ts';
import {type ScreenName, screenNames} from './screen-names.ts';
import {guarded, type ScreenBindings, type ScreenCommand, type Shell, whyNot} from './shell.ts';
import {statusText} from './shell-lines.ts';

export interface Globals extends Pick<Shell, 'say' | 'fail' | 'open' | 'goTo'> {
  app: AppContext;
  screen: ScreenName;
  bindings: RefObject<ScreenBindings>;
  deferred: DeferredActions;
  /** Oldest first. */
  said(): readonly SaidMessage[];
  quit(isInterrupted: boolean): void;
  suspend(): void;
  switchTo(context: string): void;
}

/** Keys of the screen come first. */
export const handleKey = (key: KeyName, globals: Globals): void => {
  const bindings = [...globals.bindings.current.bindings, ...globalBindings(globals)];
  const found = bindings.find(({keys}) => keys.includes(key));
  if (found) run(globals, found, key);
};

export const globalBindings = (globals: Globals): Binding[] => [
  {
    keys: screenNames.map((_, at) => String(at + 1)),
    help: 'another screen',
    run: key => globals.goTo(screenNames[Number(key) - 1] ?? 'cluster'),
  },
  {
    keys: ['tab', 'shift+tab'],
    help: 'the next screen, and the one before',
    run: key => nextScreen(globals, key === 'tab' ? 1 : -1),
  },
  {keys: [':'], label: 'command', help: 'type a command; tab completes it', run: () => openCommandLine(globals)},
  {keys: ['c'], label: 'context', help: 'another context', run: () => void openContexts(globals)},
  {keys: ['u'], help: 'undo the last confirmed action that has not begun', run: () => takeBack(globals)},
  {keys: ['!'], help: 'all messages in full', run: () => globals.open(messagesOf(globals))},
  {keys: ['?'], label: 'help', help: 'this page', run: () => globals.open(helpOf(globals))},
  {keys: ['q'], label: 'quit', help: 'leave', run: () => askToQuit(globals)},
  {keys: ['ctrl+z'], help: 'back to the shell for a while; fg comes back', run: () => globals.suspend()},
  {keys: ['ctrl+c'], help: 'leave at once', run: () => globals.quit(true)},
];

const nextScreen = ({screen, goTo}: Globals, step: number): void => {
  const count = screenNames.length;
  goTo(screenNames[(screenNames.indexOf(screen) + step + count) % count] ?? 'cluster');
};

const globalCommands = (globals: Globals): ScreenCommand[] => [
  ...screenNames.map(name => ({name, help: `the screen ${name}`, run: () => globals.goTo(name)})),
  {
    name: 'context',
    help: 'another context: :context NAME',
    run: (name: string) => (name === '' ? void openContexts(globals) : switchContext(globals, name)),
  },
  {name: 'help', help: 'keys and commands of this screen', run: () => globals.open(helpOf(globals))},
  {name: 'messages', help: 'all messages in full', run: () => globals.open(messagesOf(globals))},
  {name: 'quit', help: 'leave', run: () => askToQuit(globals)},
];

/** Runs the command, or shows why it is not available. */
const run = (globals: Globals, what: Pick<Binding, 'needs' | 'run'>, input: string): void => {
  const reason = what.needs && whyNot(globals.app, what.needs);
  if (reason !== undefined) globals.say(reason, 'warn');
  else void guarded(globals, () => what.run(input));
};

const commandsOf = (globals: Globals): ScreenCommand[] => {
  const {bindings, commands = []} = globals.bindings.current;
  const ofKeys = bindings.flatMap(binding => (binding.command === undefined ? [] : [{...binding, name: binding.command}]));
  return [...ofKeys, ...commands, ...globalCommands(globals)];
};

const helpOf = (globals: Globals) =>
  helpPage(
    {
      title: globals.screen,
      screen: globals.bindings.current.bindings,
      everywhere: globalBindings(globals),
      commands: commandsOf(globals),
      refused: ({needs}) => (needs === undefined || globals.app.may(needs) ? undefined : refusal(globals.app)),
    },
    globals.app.theme,
  );

const refusal = ({isReadOnly}: AppContext): string => (isReadOnly ? 'not with --read-only' : 'not with this key');

const messagesOf = ({app, deferred, said}: Globals) =>
  messagesPage(
    {
      status: statusText(app.live.get(), app.now()),
      present: [
        ...deferred
          .get()
          .map(({what, state}) => ({text: `${state === 'waiting' ? 'Waiting' : 'Under way'}: ${what}`, tone: undefined})),
        ...app.notices.get(),
      ],
      said: said(),
    },
    app.theme,
  );

const openCommandLine = (globals: Globals): void => {
  const commands = commandsOf(globals);
  const find = (text: string): {command: ScreenCommand | undefined; argument: string} => {
    const [, name = '', argument = ''] = /^\s*(\S*)\s*(.*?)\s*$/.exec(text) ?? [];
    const command = commands.find(known => known.name === name) ?? onlyOne(commands.filter(known => known.name.startsWith(name)));
    return {command, argument};
  };
  globals.open({
    kind: 'prompt',
    label: ':',
    text: '',
    check: text => (text.trim() === '' || find(text).command ? undefined : 'there is no such command; ? lists them'),
    hint: text => (text.trim() === '' ? 'tab goes through the commands' : find(text).command?.help),
    complete: text => {
      const {command, argument} = find(text);
      if (command && /\s/.test(text.trimStart()))
        return (command.complete?.(argument) ?? []).map(value => `${command.name} ${value}`);
      return commands.filter(({name}) => name.startsWith(text.trim())).map(({name}) => name);
    },
    onSubmit: text => {
      const {command, argument} = find(text);
      if (command && text.trim() !== '') run(globals, command, argument);
    },
  });
};

const onlyOne = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined);

const openContexts = (globals: Globals): Promise<void> =>
  guarded(globals, async () => {
    const {contexts} = await globals.app.contexts.read();
    if (contexts.length === 0) throw new CliError('no_contexts', 'there are no contexts', {hint: 'mfctl context add --help'});
    globals.open({
      kind: 'choice',
      title: 'Context',
      items: contexts.map(({name, url}) => ({label: name, detail: url})),
      chosen: Math.max(
        0,
        contexts.findIndex(({name}) => name === globals.app.name),
      ),
      onChoose: index => switchContext(globals, contexts[index]?.name ?? ''),
    });
  });

/** Refused while actions are under way: they belong to the present node. */
const switchContext = (globals: Globals, name: string): void => {
  const count = globals.deferred.get().length;
  if (count === 0) globals.switchTo(name);
  else globals.say(`${plural(count, 'action')} under way: wait for the end, or u takes back what has not begun`, 'warn');
};

const takeBack = ({deferred, say}: Globals): void => {
  const what = deferred.takeBack();
  if (what !== undefined) say(`Taken back, nothing was done: ${what}`, 'good');
  else say(deferred.get().length > 0 ? 'it is under way already' : 'there is nothing to take back', 'warn');
};

const askToQuit = (globals: Globals): void => {
  const actions = globals.deferred.get();
  if (actions.length === 0) {
    globals.quit(false);
    return;
  }
  globals.open({
    kind: 'question',
    lines: ['Leave now? These actions would not be completed:', ...actions.map(({what}) => `  ${what}`)],
    yes: 'leave',
    no: 'stay',
    onYes: () => {
      globals.deferred.dropAll();
      globals.quit(false);
    },
  });
};
