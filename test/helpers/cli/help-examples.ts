// Command lines shown in the help, as a shell would read them.
import {readFile} from 'node:fs/promises';
import {allCommands, commandLine, helpOf, mfctlCommands} from './command-tree.ts';

export interface Example {
  /** The command whose help contains the line. */
  from: string;
  line: string;
}

/** Lines in which mfctl is started: alone, after a pipe, or in `source <(…)`. */
export const helpExamples = async (): Promise<Example[]> => {
  const examples: Example[] = [];
  for (const command of allCommands(mfctlCommands())) {
    const from = commandLine(command);
    const lines = (await helpOf(from.split(' ').slice(1))).split('\n');
    examples.push(...lines.filter(line => /^ {2}(?:\S.*(?:\| |<\())?mfctl /.test(line)).map(line => ({from, line: line.trim()})));
  }
  return examples;
};

/** The prompt of a user, with or without a host, or of root. */
const prompt = /^(\w*\$|#) /;

/** Command lines in the code blocks of a page, without prompts, comments and other text. */
export const pageExamples = async (page: string): Promise<Example[]> => {
  const text = await readFile(new URL(`../../../${page}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^```(sh|console|cron)\n(.*?)^```/gms)];
  return blocks
    .flatMap(([, kind, block = '']) => {
      const lines = block.split('\n');
      return kind === 'console' ? lines.filter(line => prompt.test(line)).map(line => line.replace(prompt, '')) : lines;
    })
    .flatMap(line =>
      line
        .replace(/(^|\s)# .*$/, '')
        .replace(/\$\([^)]*\)/g, 'X')
        .split(/&&|\|\||;/),
    )
    .filter(line => /(^|\s|\()mfctl /.test(line))
    .map(line => ({from: page, line: line.trim()}));
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
