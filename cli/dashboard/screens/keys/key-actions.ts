// Revocation, deletion and rotation of API keys.
import type {ApiKey, CreatedApiKey} from '../../../../shared/api-key.ts';
import {conditionOf, usedText} from '../../../key/key-fields.ts';
import {
  planRotation,
  type Rotation,
  type RotationPlan,
  type RotationServices,
  rotateKey,
  withoutGone,
} from '../../../key/key-rotation.ts';
import {durationText, timeText} from '../../../output/cell-text.ts';
import {deferForceable} from '../../shell/asking.ts';
import {secretPage} from '../../shell/secret-page.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import {silentText} from '../cluster/cluster-actions.ts';
import {aboutKey} from './key-form.ts';

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
    label: `Not done: the last full-admin key. Type ${key.id} to ${verb} it anyway:`,
    hint: detail => `${detail}. Without one, only mfd bootstrap-key on a node helps`,
    undone: `Key ${nameOf(key)} is as it was`,
  });

/** Identifies a key for a person. */
const nameOf = ({id, name, key_prefix}: Pick<ApiKey, 'id' | 'name' | 'key_prefix'>): string => `${id} (${name}, ${key_prefix}…)`;

const usageLine = (key: ApiKey, nowMs: number): string =>
  key.last_used_at === null
    ? 'It has never been used.'
    : `It was last used ${usedText(key, nowMs)}, at ${timeText(key.last_used_at)}.`;

const ownLines = ({id}: ApiKey, ownId: number): string[] =>
  id === ownId ? ['THIS IS THE KEY IN USE HERE: this dashboard can do nothing with it afterwards.'] : [];

const hourMs = 3_600_000;
const overlaps = [
  {label: 'not at all', detail: 'it is revoked as soon as you have the new one', overlapMs: 0},
  {label: '1 hour', detail: 'both are valid until then', overlapMs: hourMs},
  {label: '24 hours', detail: 'both are valid until then', overlapMs: 24 * hourMs},
  {label: '7 days', detail: 'both are valid until then', overlapMs: 168 * hourMs},
];

export const askToRotate = (shell: Shell, key: ApiKey): void => {
  if (key.revoked_at !== null) {
    shell.say(`key ${key.id} is revoked, so there is nothing to replace: n makes a new one`, 'warn');
    return;
  }
  shell.open({
    kind: 'choice',
    title: `Rotate key ${key.id}: how long is the old one good?`,
    items: overlaps,
    onChoose: index => void plan(shell, key, overlaps[index]?.overlapMs ?? 0),
  });
};

const needsOf = ({app: {client, connection, clientFor, contexts, now}}: Shell): RotationServices => ({
  client,
  connection,
  clientFor,
  contexts,
  now,
});

const plan = (shell: Shell, {id}: ApiKey, overlapMs: number): Promise<void> =>
  guarded(shell, async () => {
    const found = await planRotation(needsOf(shell), id, {overlapMs});
    shell.openLater({kind: 'question', lines: questionLines(found), yes: 'rotate', onYes: () => void rotate(shell, found)});
  });

const questionLines = ({old, successor, overlapMs, contexts, doubtful, gone, isOwn}: RotationPlan): string[] => [
  `Rotate key ${nameOf(old)}?`,
  `A new key is made: ${aboutKey(successor)}. It is tried out and shown; when you have it, the old one ${
    overlapMs > 0 ? `is good for another ${durationText(overlapMs / 1000)}` : 'is refused'
  }.`,
  ...(contexts.length > 0 ? [`It takes the place of the old one in ${contextsText(contexts)}.`] : []),
  ...(gone.length > 0 ? [`It is not for ${withoutGone(gone)}.`] : []),
  ...(doubtful.length > 0 ? [`Left as it is, as it is not known to be of this cluster: ${contextsText(doubtful)}.`] : []),
  ...(isOwn ? ['It is the key in use here: the dashboard goes on with the new one.'] : []),
];

const contextsText = (names: readonly string[]): string => `the context${names.length === 1 ? '' : 's'} ${names.join(', ')}`;

const rotate = (shell: Shell, found: RotationPlan): Promise<void> =>
  guarded(shell, async () => {
    let apiKey: string | undefined;
    shell.say('Making the new key and trying it out …');
    const rotation = await rotateKey(needsOf(shell), found, async (successor, kept) => {
      if (found.isOwn) apiKey = successor.key;
      await shown(shell, successor, kept);
    });
    const text = endText(found, rotation);
    if (apiKey === undefined) shell.say(text, 'good');
    else shell.reconnect({...shell.app.connection, apiKey}, text);
  });

/** Resolves when the user has confirmed the page. */
const shown = (shell: Shell, {key, ...record}: CreatedApiKey, kept: readonly string[]): Promise<void> =>
  new Promise(resolve => {
    const page = secretPage(shell, {
      title: `New key ${record.id}`,
      before: [aboutKey(record), ...(kept.length > 0 ? [`It is in use by ${contextsText(kept)} from now on.`] : [])],
      secret: key,
      after: ['Nothing has happened to the old key so far. Put the new one where the old one is used, and go on.'],
    });
    shell.openLater({...page, onClose: resolve});
  });

const endText = ({old: before}: RotationPlan, {old, unreachableNodes}: Rotation): string => {
  const ended = old.revoked_at === null ? `ends at ${timeText(old.expires_at)}` : 'is refused from now on';
  return `Rotated: key ${before.id} ${ended}${silentText(unreachableNodes)}`;
};
