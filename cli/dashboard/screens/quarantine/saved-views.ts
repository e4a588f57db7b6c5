// Views of held mail: the built-in ones and the saved ones.
import {CliError, usageError} from '../../../errors.ts';
import type {HoldQuery} from '../../../quarantine/hold-query.ts';
import {parseQuery, printQuery} from '../../../quarantine/query-line.ts';
import type {Choice} from '../../shell/modal.ts';
import {guarded} from '../../shell/shell.ts';
import {type MailOrder, mailOrders, orderLabels} from './mail-order.ts';
import {isViewName, type SavedView, type ViewStore} from './view-store.ts';

export interface View {
  query: HoldQuery;
  order: MailOrder;
}

const builtIn: readonly SavedView[] = [
  {name: 'everything', query: '', order: 'newest'},
  {name: 'last hour', query: 'since:1h', order: 'newest'},
  {name: 'last day', query: 'since:1d', order: 'newest'},
  {name: 'high scores', query: 'score>=12', order: 'score'},
  {name: 'borderline', query: 'score<8', order: 'newest'},
  {name: 'phishing', query: 'reason:phishing', order: 'newest'},
  {name: 'sandbox', query: 'reason:sandbox', order: 'newest'},
  {name: 'bounces', query: 'from:<>', order: 'newest'},
  {name: 'about to be a week old', query: 'until:6d', order: 'oldest'},
];

interface ViewPickerNeeds {
  store: ViewStore;
  onChoose(view: View): void;
  fail(error: unknown): void;
  say(text: string): void;
  /** Shows the picker again, after one was deleted. */
  reopen(): void;
}

export const viewPicker = async ({store, onChoose, fail, say, reopen}: ViewPickerNeeds): Promise<Choice> => {
  const saved = await store.read();
  const views = [...saved, ...builtIn];
  const remove = async (index: number): Promise<void> => {
    const view = saved[index];
    if (!view) throw new CliError('built_in', 'this view is always there; only those saved with :save can be deleted');
    await store.remove(view.name);
    say(`View ${view.name} deleted`);
    reopen();
  };
  return {
    kind: 'choice',
    title: 'Views',
    items: views.map(({name, query}, at) => ({label: name, detail: `${at < saved.length ? 'saved' : '     '}  ${query}`})),
    onChoose: index => void guarded({fail}, () => onChoose(viewOf(views[index]))),
    keys: [{key: 'd', label: 'delete', run: index => void guarded({fail}, () => remove(index))}],
  };
};

export const saveView = async (store: ViewStore, name: string, {query, order}: View): Promise<void> => {
  if (!isViewName(name))
    throw usageError('a view needs a name of at most 40 letters, digits, spaces, dots or hyphens: :save NAME');
  await store.put({name, query: printQuery(query), order});
};

const viewOf = (view: SavedView | undefined): View => {
  const order = mailOrders.find(name => name === view?.order);
  if (view?.order !== undefined && !order)
    throw usageError(`the view has no order ${view.order}: ${Object.keys(orderLabels).join(', ')}`);
  return {query: parseQuery(view?.query ?? ''), order: order ?? 'newest'};
};
