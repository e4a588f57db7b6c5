import {type Command, Option} from 'commander';
import type {CreatedApiKey} from '../../shared/api-key.ts';
import {givenKeySource} from '../client/connection.ts';
import {durationMs, exactMoment, momentAfter} from '../command-line/moment.ts';
import {openKeyFile} from '../files/text-file.ts';
import {durationText, timeText} from '../output/cell-text.ts';
import {warnOfSilentNodes} from '../output/print-all.ts';
import {flushed} from '../output/printer.ts';
import type {Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {createdKey, filedKey, grantText, requireShown, showKey} from './key-fields.ts';
import {planRotation, type RotationPlan, type RotationServices, rotateKey, withoutGone} from './key-rotation.ts';

interface RotateFlags {
  overlap?: number;
  expiresAt?: string;
  expiresIn?: string;
  keyFile?: string;
  yes?: boolean;
}

export const addRotateCommand = (key: Command, session: Session): void => {
  session
    .prints(key.command('rotate'), rotatedKey)
    .argument('<key>', 'name or id')
    .description('replace a key with a new one with the same rights, also in the contexts that use it')
    .option('--overlap <duration>', 'keep the old key valid for this long, such as 24h (default: revoke it at once)', durationMs)
    .addOption(
      new Option('--expires-at <time>', 'when the new key expires, such as 2027-01-31T00:00:00Z')
        .argParser(exactMoment)
        .conflicts('expiresIn'),
    )
    .option('--expires-in <duration>', 'validity of the new key (default: that of the old one)', momentAfter)
    .option('--key-file <file>', 'write the new key to this new file (mode 0600) and do not show it')
    .option('--yes', 'do not ask')
    .addHelpText('after', help)
    .action((named: string, flags: RotateFlags) => rotate(session, named, flags));
};

interface Replacing {
  replaces: number;
  contexts: string[];
}

const rotatedKey: Shown<CreatedApiKey & Replacing> = {...createdKey, fields: [...createdKey.fields, 'replaces', 'contexts']};
const keptKey: Shown<Omit<CreatedApiKey, 'key'> & Replacing> = {
  ...filedKey,
  fields: [...filedKey.fields, 'replaces', 'contexts'],
};

const help = `
The new key has the name, scope, limit and domains of the old one. It is tested and stored in every context that holds the
old one before the old one ends. If no context holds it, the new key is shown once.

Examples:
  mfctl key rotate monitoring --overlap 24h --key-file monitoring.key
  mfctl key rotate 1000000001 --yes`;

const rotate = async (session: Session, named: string, flags: RotateFlags): Promise<void> => {
  const {contexts} = session;
  const connection = await session.connection();
  const clientFor: RotationServices['clientFor'] = to => session.clientFor(to, {retry: session.patience()});
  const needs: RotationServices = {client: await session.client(), connection, clientFor, contexts};
  const plan = await planRotation(needs, named, {
    expiresAt: flags.expiresAt ?? flags.expiresIn,
    overlapMs: flags.overlap,
  });
  const {keyFile} = flags;
  if (keyFile === undefined && plan.contexts.length === 0) requireShown(session.printer(), 'the new key');
  await session.confirm(question(plan, keyFile), flags.yes);

  const file = keyFile === undefined ? undefined : await openKeyFile(keyFile);
  let isWritten = false;
  const rotation = await rotateKey(needs, plan, async (successor, kept) => {
    isWritten = true;
    await file?.write(successor);
    const isShown = show(session, {plan, successor, contexts: kept, keyFile});
    if (isShown) await flushed(session.terminal, 'the new key');
  }).catch(async error => {
    if (!isWritten) await file?.abandon();
    throw error;
  });

  const printer = session.printer();
  const {old} = rotation;
  printer.note(
    old.revoked_at === null
      ? `key ${old.id} ends at ${timeText(old.expires_at)}`
      : `key ${old.id} is revoked: it is refused from now on`,
  );
  const source = plan.isOwn ? givenKeySource(session.terminal, session.flags()) : undefined;
  if (source !== undefined) printer.warn(`${source} still has the old key: replace it with the new one`);
  if (plan.gone.length > 0) printer.warn(`the new key is not for ${withoutGone(plan.gone)}`);
  for (const name of plan.doubtful)
    printer.warn(`the context ${name} has a key with the same beginning, but may belong to another cluster: it was not changed`);
  warnOfSilentNodes(session, rotation);
};

const question = ({old, successor, overlapMs, contexts, gone}: RotationPlan, keyFile: string | undefined): string => {
  const who = grantText(successor);
  const then = overlapMs > 0 ? `It is good for another ${durationText(overlapMs / 1000)}` : 'It is refused at once';
  const elsewhere = keyFile === undefined ? 'is shown once, as no context has the old one' : `goes to ${keyFile}`;
  const where = contexts.length > 0 ? `takes its place in ${contexts.join(', ')}` : elsewhere;
  const until = successor.expires_at === null ? '' : `, and ends at ${timeText(successor.expires_at)}`;
  return `Rotate key ${old.id} (${old.name}, ${who})? ${then}. The new one ${where}${until}.${goneText(gone)}`;
};

const goneText = (gone: readonly string[]): string => (gone.length === 0 ? '' : ` It is not for ${withoutGone(gone)}.`);

interface NewKey {
  plan: RotationPlan;
  successor: CreatedApiKey;
  contexts: string[];
  keyFile: string | undefined;
}

/** Shows the new key before the old one ends. True when it is on standard output only. */
const show = (session: Session, {plan, successor, contexts, keyFile}: NewKey): boolean => {
  const printer = session.printer();
  const {key: _, ...record} = successor;
  const isKept = keyFile !== undefined || contexts.length > 0;
  const replaces = {replaces: plan.old.id, contexts};
  if (!isKept) requireShown(printer, 'the new key');
  if (isKept) printer.record({...record, ...replaces}, keptKey);
  else showKey(printer, {...successor, ...replaces}, rotatedKey);

  if (!isKept) printer.note('Keep the key now: it is not shown again.');
  if (keyFile !== undefined) printer.note(`the new key is in ${keyFile}`);
  if (contexts.length > 0) printer.note(`the new key is in use by ${contexts.map(name => `the context ${name}`).join(', ')}`);
  return !isKept;
};
