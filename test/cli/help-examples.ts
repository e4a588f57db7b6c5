// The command lines that the help shows, as a shell would read them.
import {allCommands, commandLine, helpOf, mfctlCommands} from './command-tree.ts';

export interface Example {
  /** Whose help it is from. */
  from: string;
  line: string;
}

/** Lines in which mfctl is started: alone, behind a pipe, or for `source <(…)`. */
export const helpExamples = async (): Promise<Example[]> => {
  const examples: Example[] = [];
  for (const command of allCommands(mfctlCommands())) {
    const from = commandLine(command);
    const lines = (await helpOf(from.split(' ').slice(1))).split('\n');
    examples.push(...lines.filter(line => /^ {2}(?:\S.*(?:\| |<\())?mfctl /.test(line)).map(line => ({from, line: line.trim()})));
  }
  return examples;
};

/** The arguments of each mfctl in the line, without quotes and redirections. */
export const argumentsIn = (line: string): string[][] => {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|<\(|[|<>)]|[^\s|<>)'"]+/g)].map(([word, single, double]) =>
    single === undefined && double === undefined ? word : {text: single ?? double ?? ''},
  );
  const found: string[][] = [];
  let current: string[] | undefined;
  for (const word of words) {
    if (word === 'mfctl') {
      current = [];
      found.push(current);
    } else if (typeof word === 'string' && /^(\||<|>|<\(|\))$/.test(word)) current = undefined;
    else current?.push(typeof word === 'string' ? word : word.text);
  }
  return found;
};
