// Filter, order and views of the list of held mail.
import {CliError, usageError} from '../../../errors.ts';
import {type HoldQuery, queryWords} from '../../../quarantine/hold-query.ts';
import {parseQuery, printQuery, queryFault} from '../../../quarantine/query-line.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import {type MailOrder, mailOrders} from './list-state.ts';
import {completeQuery, type QuarantineContext} from './quarantine-context.ts';
import {builtInViews, saveView, viewOf} from './view-store.ts';

export const ask = ({list, screen}: QuarantineContext, query: HoldQuery, order: MailOrder): void => {
  screen.dispatch({type: 'range-left'});
  list.dispatch({type: 'asked', query, order});
};

export const openFilter = ({open}: Shell, quarantine: QuarantineContext): void => {
  const {list, screen, names} = quarantine;
  const printed = printQuery(list.get().query);
  open({
    kind: 'prompt',
    label: '/',
    text: printed === '' ? '' : `${printed} `,
    check: queryFault,
    hint: text => {
      if (text.trim() === '')
        return 'domain: from: to: since:2h until: score>=8 reason: node: and words of the subject; tab completes';
      return queryFault(text) ?? `${queryWords(parseQuery(text))} (ctrl+u empties the line)`;
    },
    complete: text => completeQuery(text, names.get().value),
    history: screen.get().history,
    onSubmit: text => setFilter(quarantine, text),
  });
};

/** Throws a CliError that names the wrong part. */
export const setFilter = (quarantine: QuarantineContext, text: string): void => {
  const query = parseQuery(text);
  if (text.trim() !== '') quarantine.screen.dispatch({type: 'typed', query: printQuery(query)});
  ask(quarantine, query, quarantine.list.get().order);
};

export const otherOrder = (quarantine: QuarantineContext): void => {
  const {query, order} = quarantine.list.get();
  ask(quarantine, query, order === 'newest' ? 'oldest' : 'newest');
};

export const setOrder = (quarantine: QuarantineContext, name: string): void => {
  const order = mailOrders.find(known => known === name);
  if (!order) throw usageError(`there is no order ${name}: ${mailOrders.join(', ')}`);
  ask(quarantine, quarantine.list.get().query, order);
};

export const openViews = (shell: Shell, quarantine: QuarantineContext): Promise<void> =>
  guarded(shell, async () => {
    const saved = await quarantine.views.read();
    const views = [...saved, ...builtInViews];
    const choose = (index: number): void => {
      const {query, order} = viewOf(views[index]);
      ask(quarantine, query, order);
    };
    const remove = async (index: number): Promise<void> => {
      const view = saved[index];
      if (!view) throw new CliError('built_in', 'this view is always there; only those saved with :save can be deleted');
      await quarantine.views.remove(view.name);
      shell.say(`View ${view.name} deleted`);
      void openViews(shell, quarantine);
    };
    shell.openLater({
      kind: 'choice',
      title: 'Views',
      items: views.map(({name, query}, at) => ({label: name, detail: `${at < saved.length ? 'saved' : '     '}  ${query}`})),
      onChoose: index => void guarded(shell, () => choose(index)),
      keys: [{key: 'd', label: 'delete', run: index => void guarded(shell, () => remove(index))}],
    });
  });

export const saveCurrentView = (shell: Shell, {views, list}: QuarantineContext, name: string): Promise<void> =>
  guarded(shell, async () => {
    await saveView(views, name, list.get());
    shell.say(`Saved as ${name}: v shows all views`, 'good');
  });
