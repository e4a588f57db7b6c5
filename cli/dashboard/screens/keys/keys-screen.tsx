import type {ReactElement} from 'react';
import type {ApiKey} from '../../../../shared/api-key.ts';
import {movingKeys} from '../../list/list-window.ts';
import {useBindings, useKeptReducer, useNow, useSource} from '../../shell/hooks.ts';
import {Lines} from '../../shell/lines.tsx';
import {useShell} from '../../shell/shell.ts';
import {noSource} from '../../shell/source.ts';
import {whyNot} from '../../shell/why-not.ts';
import {askToDelete, askToRevoke} from './key-actions.ts';
import {askForKey} from './key-form.ts';
import {keyPage} from './key-page.ts';
import {keysLines, listHeight} from './keys-lines.ts';
import {afterKeysEvent, chosenIn, keysStart, shownKeys} from './keys-state.ts';
import {askToRotate} from './rotate-key.ts';

export const KeysScreen = (): ReactElement => {
  const shell = useShell();
  const {app, size, isActive} = shell;
  const nowMs = useNow(app);
  const source = app.may('keys:read')
    ? app.source('keys', {
        load: async () => (await app.client.send<ApiKey[]>({path: 'auth/api-keys'})).data,
        refreshOn: ['key'],
        everyMs: 15_000,
      })
    : noSource;
  const {value: all, loadedAtMs, failure} = useSource(source);
  const [state, dispatch] = useKeptReducer(app, 'keys', afterKeysEvent, keysStart);

  const keys = shownKeys(all ?? [], state, nowMs);
  const chosen = chosenIn(state, keys);
  const height = listHeight(size);
  const setFilter = (text: string) => dispatch({kind: 'filtered', text, keys});
  const withChosen = (act: (key: ApiKey) => void) => () => {
    if (chosen) act(chosen);
  };

  useBindings({
    bindings: [
      {keys: movingKeys, help: 'move', run: key => dispatch({kind: 'moved', key, keys, height})},
      {
        keys: ['enter'],
        label: 'show',
        help: 'everything about the key under the cursor',
        run: withChosen(key => shell.open(keyPage(key, {isOwn: key.id === app.me.id, nowMs, theme: app.theme}))),
      },
      {
        keys: ['n'],
        label: 'new',
        needs: 'keys:write',
        help: 'make a key, which is shown once',
        run: () => askForKey(shell, source.refresh),
      },
      {
        keys: ['R'],
        label: 'rotate',
        needs: 'keys:write',
        help: 'replace the key by a new one that may do the same',
        run: withChosen(key => askToRotate(shell, key)),
      },
      {
        keys: ['X'],
        label: 'revoke',
        needs: 'keys:write',
        help: 'refuse the key on every node from now on',
        run: withChosen(key => askToRevoke(shell, key)),
      },
      {
        keys: ['D'],
        label: 'delete',
        needs: 'keys:write',
        help: 'remove the key and its name in the audit log',
        run: withChosen(key => askToDelete(shell, key)),
      },
      {
        keys: ['s'],
        label: 'sort',
        help: 'by name, state, last use, end, scope, age',
        run: () => dispatch({kind: 'sorted', keys}),
      },
      {
        keys: ['/'],
        label: 'filter',
        help: 'show the keys whose name, prefix, scope, domain or state has these words',
        run: () => shell.open({kind: 'prompt', label: 'Filter:', text: state.filter, onSubmit: text => setFilter(text.trim())}),
      },
      {keys: ['escape'], help: 'take the filter away', run: () => setFilter('')},
      {keys: ['r'], help: 'read them anew', run: source.refresh},
    ],
    commands: [
      {name: 'new-key', help: 'make a key, which is shown once', run: () => askForKey(shell, source.refresh)},
      {name: 'filter', help: 'show the keys that have these words: :filter WORDS', run: setFilter},
    ],
  });

  const lines = keysLines(
    {
      all,
      shown: keys,
      state,
      ownId: app.me.id,
      loadedAtMs,
      isOld: failure !== undefined,
      instead: whyNot(app, 'keys:read') ?? failure?.detail ?? 'asking …',
      isActive,
      nowMs,
    },
    {size, theme: app.theme},
  );
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};
