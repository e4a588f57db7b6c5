// Views of the list of held mail: saved filters with their order.
import {CliError} from '../../../errors.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import type {QuarantineContext} from './quarantine-context.ts';
import {builtInViews, saveView, viewOf} from './view-store.ts';

export const openViews = (shell: Shell, quarantine: QuarantineContext): Promise<void> =>
  guarded(shell, async () => {
    const saved = await quarantine.views.read();
    const views = [...saved, ...builtInViews];
    const choose = (index: number): void => {
      const view = views[index];
      if (!view) return;
      const {filter, order} = viewOf(view);
      quarantine.state.dispatch({kind: 'filtered', filter});
      quarantine.state.dispatch({kind: 'sorted', order});
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

export const saveCurrentView = (shell: Shell, {views, state}: QuarantineContext, name: string): Promise<void> =>
  guarded(shell, async () => {
    await saveView(views, name, state.get());
    shell.say(`Saved as ${name}: v shows all views`, 'good');
  });
