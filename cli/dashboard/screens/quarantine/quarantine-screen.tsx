import {type ReactElement, useEffect, useLayoutEffect, useMemo, useSyncExternalStore} from 'react';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {useBindings, useWatched} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {useShell} from '../../shell/shell.ts';
import {mailUnderCursor} from './list-state.ts';
import type {Thresholds} from './mail-list.ts';
import {goneText} from './mail-previews.ts';
import {previewLines} from './preview-lines.ts';
import {quarantineContext} from './quarantine-context.ts';
import {quarantineBindings, quarantineCommands} from './quarantine-keys.ts';
import {layoutOf, quarantineLines} from './quarantine-view.ts';

const noThresholds: Thresholds = new Map();

export const QuarantineScreen = (): ReactElement => {
  const shell = useShell();
  const {app, nowMs, size, isActive, say} = shell;
  const {theme, live, me} = app;
  const quarantine = quarantineContext(app);
  const {list: mails, acting: actions, previews, screen: kept} = quarantine;
  const list = useWatched(mails);
  const screen = useWatched(kept);
  const acting = useWatched(actions);
  const thresholds = useWatched(quarantine.names).value?.thresholds ?? noThresholds;

  const layout = layoutOf(size, screen.preview);
  const mail = mailUnderCursor(list);
  const id = mail ? mailId(mail) : '';
  const isPreviewed = screen.preview !== 'off';
  const preview = useSyncExternalStore(previews.subscribe, () => previews.get(id));

  useEffect(() => {
    const hides = [mails.show(), previews.show()];
    return () => {
      for (const hide of hides) hide();
    };
  }, [mails, previews]);
  useLayoutEffect(() => mails.dispatch({type: 'resized', height: layout.list.rows}), [mails, layout.list.rows]);
  useEffect(() => mails.dispatch({type: 'pinned', isPinned: isPreviewed}), [mails, isPreviewed]);
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

  const {columns: width} = layout.preview;
  const lines = useMemo(
    () => (mail && isPreviewed ? previewLines(mail, preview, {width, theme, thresholds}) : []),
    [mail, isPreviewed, preview, width, theme, thresholds],
  );

  useBindings({
    bindings: quarantineBindings(shell, quarantine, {layout, previewLength: lines.length}),
    commands: quarantineCommands(shell, quarantine),
  });

  const drawn = quarantineLines({list, screen, acting, preview: lines, thresholds, size, nowMs, isActive, theme});
  return <Lines lines={drawn} width={size.columns} height={size.rows} />;
};
