import {type ReactElement, useEffect, useMemo, useSyncExternalStore} from 'react';
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {followed, rowAt} from '../../list/list.ts';
import type {ShownList} from '../../list/list-lines.ts';
import {ListScreen} from '../../list/list-screen.tsx';
import {useWatched} from '../../shell/hooks.ts';
import {useShell} from '../../shell/shell.ts';
import {goneText} from './mail-previews.ts';
import {previewLines} from './preview-lines.ts';
import {quarantineContext} from './quarantine-context.ts';
import {quarantineBindings, quarantineCommands} from './quarantine-keys.ts';
import {previewArea, quarantineList, quarantineRows, type Thresholds} from './quarantine-list.ts';

const noThresholds: Thresholds = new Map();

export const QuarantineScreen = (): ReactElement => {
  const shell = useShell();
  const {app, nowMs, size, say} = shell;
  const {theme, live, me} = app;
  const quarantine = quarantineContext(app);
  const {held, previews, screen: kept} = quarantine;
  const state = useWatched(quarantine.state);
  const part = useWatched(held);
  const loaded = useWatched(held.source);
  const screen = useWatched(kept);
  const acting = useWatched(quarantine.acting);
  const names = useWatched(quarantine.names).value;
  const thresholds = names?.thresholds ?? noThresholds;

  const rows = quarantineRows(state, part);
  const mail = rowAt(rows, rows.rows, followed(rows, state, rows.rows).cursor);
  const id = mail ? mailId(mail) : '';
  const isPreviewed = screen.preview !== 'off';
  const preview = useSyncExternalStore(previews.subscribe, () => previews.get(id));

  useEffect(() => previews.show(), [previews]);
  // By id, as each reading creates a new object.
  useEffect(() => {
    kept.dispatch({type: 'scroll-reset'});
    const [node_id = '', queue_id = ''] = id.split('/');
    previews.want(isPreviewed && id !== '' ? {node_id, queue_id} : undefined);
  }, [kept, previews, id, isPreviewed]);

  // The mail leaves the list, and the cursor moves to another one while the user reads the preview.
  useEffect(() => {
    if (!isPreviewed) return undefined;
    return live.on(['released', 'discarded'], event => {
      if (event?.type !== 'released' && event?.type !== 'discarded') return;
      if (mailId(event) === id && event.acted_by_key_id !== me.id) say(`${goneText(event)} This is another mail.`, 'warn');
    });
  }, [live, me, say, id, isPreviewed]);

  const area = previewArea(size, screen.preview);
  const {columns: width} = area;
  const lines = useMemo(
    () => (mail && isPreviewed ? previewLines(mail, preview, {width, theme, thresholds}) : []),
    [mail, isPreviewed, preview, width, theme, thresholds],
  );

  const onShown = (shown: ShownList<HeldMail>): void => {
    held.see(shown);
    if (shown.position.cursor === 0) kept.dispatch({type: 'top-shown'});
  };
  const refresh = (): void => {
    held.source.refresh();
    previews.retry();
  };
  return (
    <ListScreen
      list={quarantineList({state, part, loaded, screen, acting, preview: lines, mail, names, thresholds, size, nowMs, theme})}
      {...{state, dispatch: quarantine.state.dispatch, refresh, onShown}}
      bindings={(under, move) =>
        quarantineBindings(shell, quarantine, {mail: under, move, preview: area, previewLength: lines.length})
      }
      commands={quarantineCommands(shell, quarantine)}
    />
  );
};
