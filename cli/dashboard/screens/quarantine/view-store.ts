// Store of saved views of held mail, in views.yaml beside the contexts.
import {join} from 'node:path';
import type {Document} from 'yaml';
import {makeFolder} from '../../../../shared/make-folder.ts';
import type {Terminal} from '../../../command-line/terminal.ts';
import {CliError, usageError} from '../../../errors.ts';
import {configHome} from '../../../files/context-store.ts';
import {withLock} from '../../../files/file-lock.ts';
import {fileFailure, writeAtomically} from '../../../files/text-file.ts';
import {loadOwnYaml} from '../../../files/yaml-file.ts';
import {parseQuery, printQuery} from '../../../quarantine/query-line.ts';
import type {ListState} from '../../list/list.ts';
import {mailOrders} from './held-part.ts';

interface SavedView {
  name: string;
  /** As it is typed. */
  query: string;
  order: string | undefined;
}

type ViewStore = ReturnType<typeof createViewStore>;

const isViewName = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,39}$/u.test(text) && text === text.trim();

export const createViewStore = ({env}: Pick<Terminal, 'env'>) => {
  const folder = join(configHome(env), 'mfctl');
  const file = join(folder, 'views.yaml');

  const change = async (edit: (views: Document) => void): Promise<void> => {
    try {
      await makeFolder(folder);
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
    /** In the order in which they were saved. */
    read: async (): Promise<SavedView[]> => viewsOf(await load(file), file),
    /** Replaces the one of that name. */
    put: ({name, query, order}: SavedView): Promise<void> =>
      change(views => views.set(name, views.createNode({query, ...(order !== undefined && {order})}))),
    remove: (name: string): Promise<void> => change(views => void views.delete(name)),
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

type View = Pick<ListState, 'filter' | 'order'>;

export const builtInViews: readonly SavedView[] = [
  {name: 'everything', query: '', order: 'newest'},
  {name: 'asked for', query: 'requested:yes', order: 'oldest'},
  {name: 'last hour', query: 'since:1h', order: 'newest'},
  {name: 'last day', query: 'since:1d', order: 'newest'},
  {name: 'high scores', query: 'score>=12', order: 'newest'},
  {name: 'borderline', query: 'score<8', order: 'newest'},
  {name: 'phishing', query: 'reason:phishing', order: 'newest'},
  {name: 'sandbox', query: 'reason:sandbox', order: 'newest'},
  {name: 'bounces', query: 'sender:<>', order: 'newest'},
  {name: 'about to be a week old', query: 'until:6d', order: 'oldest'},
];

export const saveView = async (store: ViewStore, name: string, {filter, order}: View): Promise<void> => {
  if (!isViewName(name))
    throw usageError('a view needs a name of at most 40 letters, digits, spaces, dots or hyphens: :save NAME');
  await store.put({name, query: filter, order: mailOrders[order]?.name});
};

/** Views that earlier versions saved may have an order that no longer exists. */
export const viewOf = ({query, order}: Pick<SavedView, 'query' | 'order'>): View => ({
  filter: printQuery(parseQuery(query)),
  order: Math.max(
    0,
    mailOrders.findIndex(({name}) => name === order),
  ),
});
