import {type Command, InvalidArgumentError, Option} from 'commander';
import {CliError, exitCodes, usageError} from '../errors.ts';
import {isColour, type Session} from '../session.ts';
import {type ScreenName, screenNames} from './shell/screen-names.ts';

interface DashboardFlags {
  readOnly?: boolean;
  screen: ScreenName;
  undoDelay: number;
}

export const addDashboardCommand = (program: Command, session: Session): void => {
  program
    .command('dashboard')
    .alias('top')
    .description('watch the cluster and work on it, full screen')
    .option('--read-only', 'change nothing')
    .addOption(new Option('--screen <screen>', 'the one to begin with').choices(screenNames).default('cluster'))
    .option('--undo-delay <seconds>', 'how long a release or discard can be taken back', delaySeconds, 5)
    .addHelpText('after', '\nExamples:\n  mfctl dashboard\n  mfctl top --read-only --screen quarantine')
    .action((flags: DashboardFlags) => open(session, flags));
};

const open = async (session: Session, {readOnly, screen, undoDelay}: DashboardFlags): Promise<void> => {
  const {terminal} = session;
  if (terminal.env.TERM === 'dumb' && terminal.stdout.isTTY)
    throw usageError(
      'the dashboard needs a terminal with a cursor, and TERM says dumb',
      'mfctl quarantine list works without one',
    );
  if (!terminal.stdin.isTTY || !terminal.stdout.isTTY)
    throw usageError('the dashboard needs a terminal', 'mfctl quarantine list, or mfctl quarantine watch, work without one');
  const {startDashboard} = await import('./start-dashboard.tsx');
  const isInterrupted = await startDashboard({
    session,
    isReadOnly: readOnly ?? false,
    isColour: isColour(terminal.stdout, terminal, session.flags()),
    startScreen: screen,
    undoMs: undoDelay * 1000,
  });
  if (isInterrupted) throw new CliError('interrupted', 'the dashboard was left', {exitCode: exitCodes.interrupted});
};

const delaySeconds = (text: string): number => {
  const seconds = Number(text);
  if (!/^\d{1,3}(\.\d)?$/.test(text) || seconds > 60) throw new InvalidArgumentError('Must be 0 to 60.');
  return seconds;
};
