// Revocation and deletion of API keys.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {timeText} from '../../../output/cell-text.ts';
import {deferForceable} from '../../shell/asking.ts';
import type {Shell} from '../../shell/shell.ts';
import {silentText} from '../cluster/cluster-actions.ts';
import {conditionOf, usedText} from './key-facts.ts';

export const askToRevoke = (shell: Shell, key: ApiKey): void => {
  const {app} = shell;
  if (key.revoked_at !== null) {
    shell.say(`key ${key.id} is revoked already, since ${timeText(key.revoked_at)}`, 'warn');
    return;
  }
  shell.open({
    kind: 'question',
    lines: [
      `Revoke key ${nameOf(key)}?`,
      'All nodes refuse the key afterwards. Once done, this cannot be undone. The record of the key stays for the audit log.',
      usageLine(key, app.now()),
      ...ownLines(key, app.me.id),
    ],
    yes: 'revoke',
    onYes: () => end(shell, key, 'revoke'),
  });
};

export const askToDelete = (shell: Shell, key: ApiKey): void => {
  const {app} = shell;
  const {state} = conditionOf(key, app.now());
  shell.open({
    kind: 'question',
    lines: [
      `Delete key ${nameOf(key)}?`,
      'Its record goes, and the audit log will no longer say whose it was; revoking keeps both.',
      ...(state === 'active' ? ['The key is still valid. All nodes refuse it afterwards.'] : []),
      usageLine(key, app.now()),
      ...ownLines(key, app.me.id),
    ],
    yes: 'delete',
    onYes: () => end(shell, key, 'delete'),
  });
};

/** Without a full-admin key nobody can create keys, except by a command on a node itself. */
const end = (shell: Shell, key: ApiKey, verb: 'revoke' | 'delete'): void =>
  deferForceable(shell, {
    what: `${verb} key ${nameOf(key)}`,
    run: async isForced => {
      const {keys} = shell.app.client;
      const force = isForced || undefined;
      const {unreachableNodes} = await (verb === 'revoke' ? keys.revoke(key.id, {force}) : keys.remove(key.id, {force}));
      return `${verb === 'revoke' ? 'Revoked' : 'Deleted'} key ${key.id}${silentText(unreachableNodes)}`;
    },
    word: String(key.id),
    label: `Not done: the last full-admin key. Type ${key.id} to ${verb} it all the same:`,
    hint: detail => `${detail}. Without one, only mfd bootstrap-key on a node helps`,
    undone: `Key ${nameOf(key)} is as it was`,
  });

/** Identifies a key for a person. */
export const nameOf = ({id, name, key_prefix}: Pick<ApiKey, 'id' | 'name' | 'key_prefix'>): string =>
  `${id} (${name}, ${key_prefix}…)`;

const usageLine = (key: ApiKey, nowMs: number): string =>
  key.last_used_at === null
    ? 'It has never been used.'
    : `It was last used ${usedText(key, nowMs)}, at ${timeText(key.last_used_at)}.`;

const ownLines = ({id}: ApiKey, ownId: number): string[] =>
  id === ownId ? ['THIS IS THE KEY IN USE HERE: this dashboard can do nothing with it afterwards.'] : [];
