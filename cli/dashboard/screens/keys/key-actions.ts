// What ends a key.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {asCliError} from '../../../errors.ts';
import {timeText} from '../../../output/cell-text.ts';
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
      'Whoever uses it is refused from then on, on every node. It cannot be taken back once it is done; its record stays for the audit.',
      usageLine(key, app.now()),
      ...ownLines(key, app.me.id),
    ],
    yes: 'revoke',
    onYes: () => end(shell, key, {verb: 'revoke', isForced: false}),
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
      ...(state === 'active' ? ['It is still good: whoever uses it is refused from then on, on every node.'] : []),
      usageLine(key, app.now()),
      ...ownLines(key, app.me.id),
    ],
    yes: 'delete',
    onYes: () => end(shell, key, {verb: 'delete', isForced: false}),
  });
};

interface Ending {
  verb: 'revoke' | 'delete';
  isForced: boolean;
}

const end = (shell: Shell, key: ApiKey, {verb, isForced}: Ending): void =>
  shell.defer({
    what: `${verb} key ${nameOf(key)}${isForced ? ' by force' : ''}`,
    run: async () => {
      const path = `auth/api-keys/${key.id}`;
      const request =
        verb === 'revoke' ? ({method: 'POST', path: `${path}/revoke`} as const) : ({method: 'DELETE', path} as const);
      try {
        const {unreachableNodes} = await shell.app.client.send({...request, query: {force: isForced || undefined}});
        return `${verb === 'revoke' ? 'Revoked' : 'Deleted'} key ${key.id}${silentText(unreachableNodes)}`;
      } catch (error) {
        const {code, detail} = asCliError(error);
        if (code !== 'conflict' || isForced) throw error;
        askForForce(shell, key, {verb, detail});
        return `Key ${nameOf(key)} is as it was`;
      }
    },
  });

/**
 * Without a full-admin key nobody can make keys: the way back is a command on a node itself. It comes up by itself, some seconds after
 * the first question, so that no single key press may be a yes.
 */
const askForForce = (shell: Shell, key: ApiKey, {verb, detail}: {verb: Ending['verb']; detail: string}): void =>
  shell.open({
    kind: 'prompt',
    label: `Not done: the last full-admin key. Type ${key.id} to ${verb} it all the same:`,
    text: '',
    hint: () => `${detail}. Without one, only mfd bootstrap-key on a node helps`,
    check: text => (text.trim() === String(key.id) ? undefined : `type ${key.id}, or escape to do nothing`),
    onSubmit: () => end(shell, key, {verb, isForced: true}),
  });

/** As a person knows it. */
export const nameOf = ({id, name, key_prefix}: Pick<ApiKey, 'id' | 'name' | 'key_prefix'>): string =>
  `${id} (${name}, ${key_prefix}…)`;

const usageLine = (key: ApiKey, nowMs: number): string =>
  key.last_used_at === null
    ? 'It has never been used.'
    : `It was last used ${usedText(key, nowMs)}, at ${timeText(key.last_used_at)}.`;

const ownLines = ({id}: ApiKey, ownId: number): string[] =>
  id === ownId ? ['THIS IS THE KEY IN USE HERE: this dashboard can do nothing with it afterwards.'] : [];
