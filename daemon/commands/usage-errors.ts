// What mfd prints after wrong usage: the name that was meant, and the help of the command that was typed.
import type {Command} from 'commander';
import {nearestWord} from '../../shared/nearest-word.ts';

/** Commander's own suggestions name anything that looks similar, such as `join` for `unjoin`. */
export const explainUsageErrors = (command: Command, parents: readonly string[] = []): void => {
  const path = [...parents, command.name()];
  const below = command.commands.map(each => each.name());
  const options = [...command.options.map(({long}) => long ?? ''), '--help'];
  command
    .showSuggestionAfterError(false)
    .showHelpAfterError(`(${path.join(' ')} --help lists the ${below.length > 0 ? 'commands' : 'options'})`)
    .configureOutput({
      outputError: (text, write) => {
        const [, kind, word = ''] = /unknown (option|command) '(.*)'/.exec(text) ?? [];
        const meant = nearestWord(word, kind === 'option' ? options : below);
        write(meant === undefined ? text : `${text.trimEnd()}\n(did you mean ${meant}?)\n`);
      },
    });
  for (const each of command.commands) explainUsageErrors(each, path);
};
