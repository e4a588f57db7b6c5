import {Argument, type Command} from 'commander';
import {safeLine} from '../../shared/safe-text.ts';
import {truncate} from '../output/display-width.ts';
import type {Session} from '../session.ts';
import {type Completion, complete, unquoted} from './complete.ts';
import {type Shell, shellScripts, shells} from './shell-scripts.ts';

/** A person who pressed the Tab key is waiting. */
const patienceMs = 1500;
const aboutWidth = 72;

export const addCompletionCommands = (program: Command, session: Session): void => {
  program
    .command('completion')
    .description('print the completion script of a shell: commands, options, and values from the node')
    .addArgument(new Argument('<shell>', 'to complete in').choices(shells))
    .addHelpText('after', help)
    .action((shell: Shell) => session.printer().text(shellScripts[shell]));

  program
    .command('__complete', {hidden: true})
    .argument('[words...]')
    .option('--shell <shell>')
    .action(async (words: string[], {shell}: {shell?: string}) => {
      const signal = AbortSignal.timeout(patienceMs);
      // An error must not be printed into a command line that is being typed.
      const completion = await Promise.race([
        complete({program, session, signal}, bareWords(words, shell)),
        new Promise<never>((_, reject) => signal.addEventListener('abort', reject, {once: true})),
      ]).catch(() => undefined);
      if (completion) session.terminal.stdout.write(answerText(completion));
    });
};

const help = `
bash, in ~/.bashrc:
  source <(mfctl completion bash)
zsh, with fpath+=~/.zfunc in ~/.zshrc before compinit runs:
  mfctl completion zsh > ~/.zfunc/_mfctl
fish:
  mfctl completion fish > ~/.config/fish/completions/mfctl.fish

Node ids, held mails, domains, keys and so on come from the node that the command line names, with its key. Without an answer
within 1.5 seconds there are no suggestions.`;

/** Bash passes all words as they are typed, the others only the last one. */
const bareWords = (words: readonly string[], shell: string | undefined): string[] =>
  words.map((word, at) => (shell === 'bash' || at === words.length - 1 ? unquoted(word) : word));

const answerText = ({candidates, filesFrom}: Completion): string => {
  const lines = candidates.map(({value, about}) => `${value}\t${truncate(safeLine(about), aboutWidth)}\n`);
  return [...lines, ...(filesFrom === undefined ? [] : [`:files ${filesFrom}\n`])].join('');
};
