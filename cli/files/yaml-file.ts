// A YAML or JSON file that a person wrote, with the lines to point at.
import {readFile, stat} from 'node:fs/promises';
import {CliError, exitCodes} from '../cli-error.ts';
import {readStdin, type Terminal} from '../terminal.ts';
import {fileFailure} from './file-failure.ts';

export interface LineFault {
  line: number;
  detail: string;
}

export interface YamlFile {
  /** As messages call it. */
  name: string;
  value: unknown;
  /** Of the member or entry at a path, or of the nearest one above it. */
  lineOf(path: readonly (string | number)[]): number;
}

const maxBytes = 16 * 1024 * 1024;
/** One anchor may be meant this often. Anchors within anchors count for more, so that a small file stays a small value. */
const maxAliasCount = 10_000;
const maxFaults = 50;

/** `-` is standard input. Rejects with a CliError that names every line on which it is no YAML. */
export const readYamlFile = async (file: string, terminal: Terminal): Promise<YamlFile> => {
  const name = file === '-' ? 'standard input' : file;
  const text = file === '-' ? await readStdin(terminal) : await readText(file);
  if (Buffer.byteLength(text) > maxBytes) throw tooLarge(name);

  const {LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, visit} = await import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(text, {lineCounter: lines, prettyErrors: false, logLevel: 'error'});
  const lineAt = (offset = 0): number => lines.linePos(offset).line;
  const lineOfNode = (node: unknown): number => lineAt((node as {range?: [number, number, number] | null} | null)?.range?.[0]);

  const faults: LineFault[] = [...document.errors, ...document.warnings].map(({message, pos}) => ({
    line: lineAt(pos[0]),
    detail: message,
  }));
  visit(document, {
    Pair(_, {key}) {
      if (!isScalar(key)) faults.push({line: lineOfNode(key), detail: 'a list or mapping cannot be a name'});
    },
  });
  if (faults.length > 0) throw wrongFile(name, faults);

  /** Only here it is found what aliases stand for, and how much they come to. */
  const readValue = (): unknown => {
    try {
      return document.toJS({maxAliasCount});
    } catch (error) {
      let line = 1;
      visit(document, {
        Alias(_, alias) {
          if (alias.resolve(document)) return;
          line = lineOfNode(alias);
          return visit.BREAK;
        },
      });
      throw wrongFile(name, [{line, detail: error instanceof Error ? error.message : String(error)}]);
    }
  };

  return {
    name,
    value: readValue(),
    lineOf(path) {
      let node: unknown = document.contents;
      let line = lineOfNode(node);
      for (const step of path) {
        if (isAlias(node)) node = node.resolve(document);
        const pair = isMap(node) ? node.items.find(({key}) => isScalar(key) && key.value === step) : undefined;
        const found: unknown = pair?.key ?? (isSeq(node) ? node.items[Number(step)] : undefined);
        if (found === undefined) break;
        line = lineOfNode(found);
        node = pair ? pair.value : found;
      }
      return line;
    },
  };
};

/** What is wrong with a file, line by line. */
export const wrongFile = (name: string, faults: readonly LineFault[]): CliError => {
  const sorted = faults.toSorted((a, b) => a.line - b.line);
  const shown = sorted.slice(0, maxFaults).map(({line, detail}) => ({path: `${name}:${line}`, detail}));
  const more = sorted.length > maxFaults ? `; the first ${maxFaults} are` : '';
  return new CliError(
    'invalid_file',
    `${name} cannot be used: ${sorted.length === 1 ? 'one thing is' : `${sorted.length} things are`} wrong${more}`,
    {exitCode: exitCodes.usage, fields: shown, hint: 'nothing was changed; mend the file and run the same command again'},
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
