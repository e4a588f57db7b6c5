// Store of saved views of held mail, in views.yaml beside the contexts.
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {Document} from 'yaml';
import type {Terminal} from '../../../command-line/terminal.ts';
import {CliError} from '../../../errors.ts';
import {writeAtomically} from '../../../files/atomic-file.ts';
import {configHome} from '../../../files/context-store.ts';
import {fileFailure} from '../../../files/file-failure.ts';
import {withLock} from '../../../files/file-lock.ts';
import {loadOwnYaml} from '../../../files/own-yaml.ts';

export interface SavedView {
  name: string;
  /** As it is typed. */
  query: string;
  order: string | undefined;
}

export interface ViewStore {
  /** In the order in which they were saved. */
  read(): Promise<SavedView[]>;
  /** Replaces the one of that name. */
  put(view: SavedView): Promise<void>;
  remove(name: string): Promise<void>;
}

export const isViewName = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,39}$/u.test(text) && text === text.trim();

export const createViewStore = ({env}: Pick<Terminal, 'env'>): ViewStore => {
  const folder = join(configHome(env), 'mfctl');
  const file = join(folder, 'views.yaml');

  const change = async (edit: (views: Document) => void): Promise<void> => {
    try {
      await mkdir(folder, {recursive: true, mode: 0o700});
      await withLock(join(folder, 'views.lock'), async () => {
        const views = await load(file);
        viewsOf(views, file);
        edit(views);
        await writeAtomically(file, String(views));
      });
    } catch (error) {
      throw error instanceof CliError ? error : fileFailure(file, error, 'write');
    }
  };

  return {
    read: async () => viewsOf(await load(file), file),
    put: ({name, query, order}) =>
      change(views => views.set(name, views.createNode({query, ...(order !== undefined && {order})}))),
    remove: name => change(views => void views.delete(name)),
  };
};

const load = (file: string): Promise<Document> => loadOwnYaml(file, detail => broken(file, detail));

const viewsOf = (document: Document, file: string): SavedView[] =>
  Object.entries(document.toJS() as Record<string, unknown>).map(([name, value]) => {
    const {query, order} = (value ?? {}) as {query?: unknown; order?: unknown};
    if (typeof query !== 'string') throw broken(file, `${name}.query must be a text such as "since:1h score>=10"`);
    return {name, query, order: typeof order === 'string' ? order : undefined};
  });

const broken = (file: string, detail: string): CliError =>
  new CliError('invalid_views', `${file}: ${detail}`, {hint: 'fix the file or move it away'});
