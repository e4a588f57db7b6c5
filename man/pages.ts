// Pages of the manual: prose from the `.in` files, and what the programs themselves say in place of each `@…@` line.
import {readFile} from 'node:fs/promises';
import {PassThrough} from 'node:stream';
import {fileURLToPath} from 'node:url';
import {createCommands} from '../cli/program.ts';
import {program as mfdProgram} from '../daemon/main.ts';
import manifest from '../package.json' with {type: 'json'};
import {commandSections, optionList} from './command-sections.ts';
import {configSections} from './config-sections.ts';
import {topicSection} from './topic-sections.ts';

export const pageNames = ['mfctl.1', 'mfd.8', 'mfd.yaml.5'] as const;
export type PageName = (typeof pageNames)[number];

export const pagePath = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const makePage = async (name: PageName): Promise<string> => {
  const source = await readFile(pagePath(`${name}.in`), 'utf8');
  return source
    .split('\n')
    .filter(line => !line.startsWith('.\\" in:'))
    .map(line => parts[line]?.() ?? line.replaceAll('@VERSION@', manifest.version))
    .join('\n');
};

const mfctlProgram = () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return createCommands([], {env: {}, stdin, stdout, stderr, onInterrupt: () => () => undefined}).program;
};

const parts: Record<string, () => string> = {
  '@MFCTL-OPTIONS@': () => optionList(mfctlProgram()),
  '@MFCTL-COMMANDS@': () => commandSections(mfctlProgram()),
  '@CONNECTION@': () => topicSection('connection'),
  '@FORMATS@': () => topicSection('formats'),
  '@ENVIRONMENT@': () => topicSection('environment'),
  '@EXIT-STATUS@': () => topicSection('exit-status'),
  '@MFD-OPTIONS@': () => optionList(mfdProgram()),
  '@MFD-COMMANDS@': () => commandSections(mfdProgram()),
  '@KEYS@': configSections,
};
