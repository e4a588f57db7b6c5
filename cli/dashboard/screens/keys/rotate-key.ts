// Rotation of a key. The old key ends only after the new one has been shown and confirmed.
import type {ApiKey, CreatedApiKey} from '../../../../shared/api-key.ts';
import {planRotation, type Rotation, type RotationPlan, type RotationServices, rotateKey} from '../../../key/key-rotation.ts';
import {durationText, timeText} from '../../../output/cell-text.ts';
import {secretPage} from '../../shell/secret-page.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import {silentText} from '../cluster/cluster-actions.ts';
import {nameOf} from './key-actions.ts';
import {aboutKey} from './key-form.ts';

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

const questionLines = ({old, successor, overlapMs, contexts, doubtful, isOwn}: RotationPlan): string[] => [
  `Rotate key ${nameOf(old)}?`,
  `A new key is made: ${aboutKey(successor)}. It is tried out and shown; when you have it, the old one ${
    overlapMs > 0 ? `is good for another ${durationText(overlapMs / 1000)}` : 'is refused'
  }.`,
  ...(contexts.length > 0 ? [`It takes the place of the old one in ${contextsText(contexts)}.`] : []),
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
