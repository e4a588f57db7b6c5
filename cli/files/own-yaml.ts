// YAML files of mfctl's own, as documents: comments and unknown members survive a change.
import {readFile} from 'node:fs/promises';
import type {Document} from 'yaml';
import type {CliError} from '../errors.ts';
import {fileFailure} from './file-failure.ts';

/** A missing file counts as empty. Rejects with the error that `broken` returns when the file is no mapping. */
export const loadOwnYaml = async (file: string, broken: (detail: string) => CliError): Promise<Document> => {
  const [text, {parseDocument, Document, isMap}] = await Promise.all([readIfThere(file), import('yaml')]);
  const document = text === undefined ? new Document({}) : parseDocument(text);
  const [error] = document.errors;
  if (error) throw broken(error.message.split('\n', 1)[0] ?? '');
  if (document.contents === null) return new Document({});
  if (!isMap(document.contents)) throw broken('must be a mapping');
  return document;
};

/** The same as plain values, for reading only. */
export const readOwnYaml = async (file: string, broken: (detail: string) => CliError): Promise<Record<string, unknown>> =>
  (await loadOwnYaml(file, broken)).toJS() as Record<string, unknown>;

const readIfThere = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileFailure(file, error, 'read');
  }
};
