// YAML or JSON file that a person wrote, with line numbers for errors.

import {readFile, stat} from 'node:fs/promises';
import type {Document} from 'yaml';
import {hasOwn} from '../../shared/has-own.ts';
import {readStdin, type Terminal} from '../command-line/terminal.ts';
import {CliError, exitCodes} from '../errors.ts';
import {type BoundedYaml, type LineFault, readBoundedYaml} from './bounded-yaml.ts';
import {fileFailure} from './text-file.ts';

interface YamlFile extends BoundedYaml {
  /** The name for messages. */
  name: string;
}

const maxBytes = 16 * 1024 * 1024;
const maxFaults = 50;

/** `-` is standard input. Rejects with a CliError that names every line with a syntax error. */
export const readYamlFile = async (file: string, terminal: Terminal): Promise<YamlFile> => {
  const name = file === '-' ? 'standard input' : file;
  const text = file === '-' ? await readStdin(terminal, maxBytes) : await readText(file);
  if (Buffer.byteLength(text) > maxBytes) throw tooLarge(name);

  const read = await readBoundedYaml(text);
  if (hasOwn(read, 'faults')) throw wrongFile(name, read.faults);
  return {name, ...read};
};

/** The faults of a file, line by line. */
export const wrongFile = (name: string, faults: readonly LineFault[]): CliError => {
  const sorted = faults.toSorted((a, b) => a.line - b.line);
  const shown = sorted.slice(0, maxFaults).map(({line, detail}) => ({path: `${name}:${line}`, detail}));
  const more = sorted.length > maxFaults ? `; the first ${maxFaults} are` : '';
  return new CliError(
    'invalid_file',
    `${name} cannot be used: ${sorted.length === 1 ? 'one thing is' : `${sorted.length} things are`} wrong${more}`,
    {exitCode: exitCodes.usage, fields: shown, hint: 'nothing was changed; fix the file and run the same command again'},
  );
};

const readText = async (file: string): Promise<string> => {
  try {
    if ((await stat(file)).size > maxBytes) throw tooLarge(file);
    return await readFile(file, 'utf8');
  } catch (error) {
    throw error instanceof CliError ? error : fileFailure(file, error, 'read');
  }
};

const tooLarge = (name: string): CliError =>
  new CliError('invalid_file', `${name} is larger than ${maxBytes / 1024 / 1024} MiB`, {
    exitCode: exitCodes.usage,
    hint: 'nothing was changed; divide it into several files',
  });

/** A missing file counts as empty. Rejects with the error that `broken` returns when the file is not a mapping. */
export const loadOwnYaml = async (file: string, broken: (detail: string) => CliError): Promise<Document> => {
  const [text, {parseDocument, Document, isMap}] = await Promise.all([readIfThere(file), import('yaml')]);
  const document = text === undefined ? new Document({}) : parseDocument(text);
  const [error] = document.errors;
  if (error) throw broken(error.message.split('\n', 1)[0] ?? '');
  if (document.contents === null) return new Document({});
  if (!isMap(document.contents)) throw broken('must be a mapping');
  return document;
};

const readIfThere = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileFailure(file, error, 'read');
  }
};
