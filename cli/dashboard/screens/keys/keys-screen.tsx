import type {ReactElement} from 'react';
import {markDeleted} from '../../../key/deleted-domains.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import {useWatched} from '../../shell/hooks.ts';
import {Permitted} from '../../shell/permitted.tsx';
import {useShell} from '../../shell/shell.ts';
import {askToDelete, askToRevoke, askToRotate} from './key-actions.ts';
import {askForKey} from './key-form.ts';
import {keyPage, keysList} from './keys-list.ts';
export const KeysScreen = (): ReactElement => <Permitted permission="keys:read" what="keys" screen={Keys} />;

const Keys = (): ReactElement => {
  const shell = useShell();
  const {app, nowMs} = shell;
  const {theme, me} = app;
  const source = app.source('keys', {
    load: async () => markDeleted(app.client, (await app.client.keys.list()).data),
    refreshOn: ['key', 'domain'],
    everyMs: 15_000,
  });
  const [state, dispatch] = useListState('keys');
  const list = keysList({loaded: useWatched(source), ownId: me.id, nowMs, theme});

  return (
    <ListScreen
      {...{list, state, dispatch, refresh: source.refresh}}
      bindings={key => [
        {
          keys: ['enter'],
          label: 'show',
          help: 'everything about the key under the cursor',
          run: () => key && shell.open(keyPage(key, {isOwn: key.id === me.id, nowMs, theme})),
        },
        {
          keys: ['n'],
          command: 'new-key',
          label: 'new',
          needs: 'keys:write',
          help: 'create a key, which is shown once',
          run: () => void askForKey(shell, source.refresh),
        },
        {
          keys: ['R'],
          label: 'rotate',
          needs: 'keys:write',
          help: 'replace the key with a new one with the same rights',
          run: () => key && askToRotate(shell, key),
        },
        {
          keys: ['X'],
          label: 'revoke',
          needs: 'keys:write',
          help: 'refuse the key on every node from now on',
          run: () => key && askToRevoke(shell, key),
        },
        {
          keys: ['D'],
          label: 'delete',
          needs: 'keys:write',
          help: 'remove the key and its name in the audit log',
          run: () => key && askToDelete(shell, key),
        },
      ]}
    />
  );
};
